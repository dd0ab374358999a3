//! A conversation that begins with "hello", of which the cost is measured. The bench says the same words, so that figures compare.

/// The user's words; after the last one the first is said again, and so on.
pub const SAID: [&str; 16] = [
    "hello",
    "What can you do for me?",
    "I want to grow tomatoes on my balcony. It faces south and it is rather windy.",
    "Which kinds stand the wind best?",
    "And how often do they have to be watered in July?",
    "I have about 40 euros for it, pots and soil included.",
    "My name is Ada, by the way.",
    "Could I start them indoors? It is the 12th of March today.",
    "What goes wrong most often with seedlings on a window sill?",
    "Please make me a list of what to buy, the cheapest first.",
    "Is basil a good neighbour for tomatoes, or is that a myth?",
    "My cat eats everything green. Do I have to worry about her?",
    "Then rather no lilies. Remind me to close the balcony door at night.",
    "How long from sowing to the first tomato, about?",
    "Thank you, that helps a lot!",
    "One more thing: what did I say that I can spend?",
];
