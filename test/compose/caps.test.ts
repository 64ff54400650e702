/** Which names of `concurrency` no agent has. */
import { expect, test } from "vitest";
import { wrongWithCaps } from "../../src/compose/check-caps.ts";
import { scriptedAgent } from "../support/harness/harness.ts";

const clerk = { agent: { ...scriptedAgent({ reply: () => ({ text: "" }) }), name: "clerk" }, file: "clerk.ts" };

/** In a world without a store, where no file is remembered. */
const judge = (concurrency: object, broken: readonly { readonly file: string; readonly why: string }[] = []) =>
  wrongWithCaps({} as never, { concurrency, world: { agents: { kind: "deployed" } } } as never, {
    agents: [clerk],
    broken,
  });

test("a name that no agent has names no agent, and the answer says which there are", async () => {
  expect(await judge({ clerk: 2 })).toBeNull();
  expect(await judge({ clerk: 2, clrek: 3 })).toBe(
    "concurrency.clrek of cairn.config.ts names no agent; the agents are: clerk; write clerk if you mean that one",
  );
  expect(await judge({ constructor: 3 })).toBe(
    "concurrency.constructor of cairn.config.ts names no agent; the agents are: clerk",
  );
});

test("no name is judged while a file cannot be loaded, since the agent may be in that one", async () => {
  expect(await judge({ clrek: 3 }, [{ file: "half.ts", why: "SyntaxError" }])).toBeNull();
});
