//! The whole, put together: the only file that names concrete parts. In which order they start, and stop.

use crate::settings::Settings;

/// Serves until a signal or until a part dies.
pub fn serve(settings: Settings) -> anyhow::Result<()> {
    settings.check()?;
    crate::telemetry::start_log(&settings.log, settings.secrets())?;
    Ok(())
}
