// A server with the story in it, for looking: npx tsx e2e/demo.ts [pace]. Prints its address and stays.
import { endpoint } from "./model.ts";
import { Thinkd } from "./server.ts";
import { story } from "./story.ts";

export const SETTINGS = { THINKD_TURN__SUBMODULE_TIMEOUT_MS: "2500", THINKD_TOOLS__APPROVAL: '["state_put"]' };

const pace = Number(process.argv[2] ?? 1);
const model = await endpoint(story(pace));
const server = new Thinkd({ THINKD_MODEL: "qwen3:4b", OPENAI_BASE_URL: model.url, OPENAI_API_KEY: "x", ...SETTINGS });
if (process.argv[3]) server.port = Number(process.argv[3]);
await server.start();
for (const name of ["memory", "warmth", "frugal", "botanist"]) await server.call("POST", "/submodules", { name, prompt: `You are ${name}. Say what a ${name} would say.` });
await server.say("What does it cost to keep a small greenhouse frost-free with an electric heater?");
await server.say("Is it free of permit?");
await server.say("We have 3 by 4 m against the south wall and about €2,400. Can it stay above 5 °C all winter, and what would you build first?");
console.log(server.url);
process.on("SIGTERM", () => void server.stop().then(() => process.exit(0)));
