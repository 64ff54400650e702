/** What is derived from a growing transcript costs only its new messages, and is always that of the messages given. */
import { expect, test } from "vitest";
import { prefixMemo } from "../../src/codec/prefix-memo.ts";
import { type Message, text } from "../../src/core/message.ts";
import { promptOf } from "../../src/engine/model/prompt.ts";
import { requestDigests } from "../../src/engine/model/request-digests.ts";

const message = (words: string): Message => ({
  ...{ id: words, at: 0, role: "user", source: "user:test", parts: [text(words)], tokens: 0 },
});

const listed = (): { readonly added: string[]; readonly of: (messages: readonly Message[]) => readonly string[] } => {
  const added: string[] = [];
  const of = prefixMemo<string[]>({
    start: () => [],
    copy: (ids) => [...ids],
    add: (ids, { id }) => {
      added.push(id);
      ids.push(id);
    },
  });
  return { added, of };
};

test("only messages that are new since the last time are added", () => {
  const { added, of } = listed();
  const [one, other, third] = [message("one"), message("other"), message("third")];
  const early = of([one, other]);
  expect(of([one, other, third])).toEqual(["one", "other", "third"]);
  expect(early).toEqual(["one", "other"]);
  expect(added).toEqual(["one", "other", "third"]);
});

test("the list of the last time is not read again, and one that was cut since is", () => {
  const { added, of } = listed();
  const reads = { count: 0 };
  const messages = new Proxy(["one", "other", "third"].map(message), {
    get: (list, name, itself) => {
      if (typeof name === "string" && /^\d+$/.test(name)) reads.count += 1;
      return Reflect.get(list, name, itself) as unknown;
    },
  });
  of(messages);
  reads.count = 0;
  expect(of(messages)).toEqual(["one", "other", "third"]);
  // The first message finds what is known.
  expect(reads.count).toBe(1);
  messages.pop();
  expect(of(messages)).toEqual(["one", "other"]);
  expect(added).toEqual(["one", "other", "third", "one", "other"]);
});

test("a list to which its owner appends is another transcript", () => {
  const { of } = listed();
  const messages = [message("one")];
  of(messages);
  messages.push(message("other"));
  expect(of(messages)).toEqual(["one", "other"]);
});

test("a transcript that was cut, or that has another message in the middle, is derived anew", () => {
  const { of } = listed();
  const [one, other, third] = [message("one"), message("other"), message("third")];
  of([one, other, third]);
  expect(of([one, third])).toEqual(["one", "third"]);
  expect(of([one, message("else"), third])).toEqual(["one", "else", "third"]);
  expect(of([one, other, third])).toEqual(["one", "other", "third"]);
  expect(of([])).toEqual([]);
});

test("a prompt and its digest are those of the messages, whatever was asked before", () => {
  const agent = { instructions: "be brief", tools: {} };
  const messages = ["one", "other", "third", "fourth"].map(message);
  const grown = messages.map((_, index) => messages.slice(0, index + 1));
  for (const each of [...grown, ...grown.toReversed()]) {
    const fresh = each.map(({ id }) => message(id));
    expect(promptOf("be brief", each)).toEqual(promptOf("be brief", fresh));
    expect(requestDigests(agent, each)).toEqual(requestDigests(agent, fresh));
  }
});

test("an adapter that changes a message of a prompt gets an error, so the next request is what it should be", () => {
  const prompt = promptOf("", [message("one")]);
  expect(() => Object.assign(prompt[0] as object, { content: [] })).toThrow(TypeError);
  prompt.push({ role: "system", content: "more" });
  expect(promptOf("", [message("one")])).toHaveLength(1);
});
