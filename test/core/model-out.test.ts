/** The texts of users while a request to the model is out (schedule 196). */
import { expect, test } from "vitest";
import { heldTexts, isModelOut, takeText, withoutModelOut } from "../../src/core/policy/model-out.ts";
import { AT, IN_PHASE } from "../support/states/states-and-events.ts";
import { withDetached } from "../support/states/detached-events.ts";

const calm = IN_PHASE.AwaitingLLM();
const FROM = { at: AT + 5, source: "user:bo" };

test("a text is held while a request is out, and joins the transcript otherwise", () => {
  const out = withDetached(calm);
  const held = takeText(out, { text: "Stop.", by: "bo" }, FROM);
  expect(held).toEqual({
    ...out,
    modelOut: {
      ...out.modelOut,
      held: [
        { text: "Hurry.", by: "ada" },
        { text: "Stop.", by: "bo" },
      ],
    },
  });
  expect({ held: isModelOut(held), messages: held.messages.length }).toEqual({
    held: true,
    messages: calm.messages.length,
  });
  const taken = takeText(calm, { text: "Stop.", by: "bo" }, FROM);
  expect(taken.messages.at(-1)).toMatchObject({ ...FROM, parts: [{ kind: "text", text: "Stop." }] });
  expect(heldTexts(taken)).toEqual([]);
});

test("the texts that were held follow in their order, at the time when the request ended", () => {
  const out = takeText(withDetached(calm), { text: "Stop.", by: "bo" }, FROM);
  const { messages, ...rest } = withoutModelOut(out, AT + 9);
  expect(rest).not.toHaveProperty("modelOut");
  expect(messages.slice(calm.messages.length)).toMatchObject([
    { at: AT + 9, source: "user:ada", parts: [{ text: "Hurry." }] },
    { at: AT + 9, source: "user:bo", parts: [{ text: "Stop." }] },
  ]);
});
