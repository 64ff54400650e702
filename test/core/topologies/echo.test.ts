/** Which answers of a worker count as its task given back. */
import { expect, test } from "vitest";
import { isEcho } from "../../../src/core/topologies/echo.ts";

const QUESTION = "Find out how much the printer of Brother costs and how loud it is.";

const GAP = "The quietest one of the three printers here is the";

test.each([
  ["the same text", { question: QUESTION }, QUESTION],
  ["the same text in a memo", { question: QUESTION }, { memo: QUESTION, sources: [] }],
  ["another letter case and punctuation", { question: "The printer" }, { memo: "the  PRINTER!" }],
  ["a few other words", { question: QUESTION }, { memo: QUESTION.replace("loud", "noisy") }],
  ["one of two texts of the task", { product: "Brother", question: QUESTION }, { memo: QUESTION }],
  ["the task after a sentence that leads in", { question: QUESTION }, { memo: `Sure! Here is the memo: ${QUESTION}` }],
  ["the task after a sentence in a field of its own", { question: QUESTION }, { title: "My report", memo: QUESTION }],
  [
    "a few other words after a sentence that leads in",
    { question: QUESTION },
    `Thanks, I looked into this carefully. ${QUESTION.replace("loud", "noisy")}`,
  ],
  [
    "a short task after a sentence that leads in",
    { question: "Book the flight" },
    "Here is the task: Book the flight.",
  ],
  ["both texts of the task", { product: "Brother", question: QUESTION }, { memo: `Brother: ${QUESTION}` }],
])("%s is an echo", (_, task, answer) => {
  expect(isEcho(task, answer)).toBe(true);
});

test.each([
  ["a real memo", { question: QUESTION }, { memo: "The printer of Brother costs 129 euros, and it has 46 dB." }],
  ["the subject with a figure", { product: "Brother" }, { product: "Brother", price: 129 }],
  ["a short answer that shares a word", { part: 0 }, { memo: "part 0" }],
  ["the task with a long answer", { question: QUESTION }, { memo: `${QUESTION} ${"It costs 129 euros. ".repeat(5)}` }],
  ["a short text with its gap filled", { text: GAP }, { memo: `${GAP} Brother` }],
  ["an answer with a figure before the task", { question: QUESTION }, `It costs 129 euros. ${QUESTION}`],
  [
    "an answer before a short task",
    { question: "What is the capital of Italy?" },
    "Rome: what is the capital of Italy?",
  ],
  ["a long answer before the task", { question: QUESTION }, `${"It is loud and cheap too. ".repeat(4)} ${QUESTION}`],
  ["a short task with one more word", { question: "Book the flight" }, "Booked: the flight"],
  ["a subject after a word that leads in", { part: "printers" }, "on printers"],
  ["a figure alone", { question: QUESTION }, 42],
  ["nothing", { question: QUESTION }, {}],
])("%s is no echo", (_, task, answer) => {
  expect(isEcho(task, answer)).toBe(false);
});
