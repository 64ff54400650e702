/**
 * Every request to a model is valid for a provider: it begins with the task, every call has its result and
 * every result its call. Tested over random valid runs, compacted wherever that is allowed or possible.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { promptOf } from "../../src/engine/model/prompt.ts";
import type { State } from "../../src/core/state.ts";
import { applyCompaction, visibleMessages } from "../../src/core/policy/window.ts";
import { compactionRangeOf } from "../../src/features/compaction/range.ts";
import { walks } from "../support/walks/random-walks.ts";
import { compactionEvent } from "../support/states/compactions.ts";

/** The violations that a provider would refuse. Open calls have no result yet. */
function wrongWith(state: State): readonly string[] {
  const [first, ...rest] = promptOf("", visibleMessages(state));
  // No model requested a call that undoes another call.
  const open = new Set(state.open.filter(({ undoes }) => undoes === undefined).map(({ call }) => call));
  const wrong =
    first?.role === "user" && visibleMessages(state)[0]?.source === "task" ? [] : ["it does not begin with the task"];
  let asked: string[] = [];
  const end = (): void => {
    wrong.push(...asked.filter((call) => !open.has(call)).map((call) => `${call} has no result`));
    asked = [];
  };
  for (const { role, content } of rest) {
    if (role === "assistant") {
      end();
      asked = content.flatMap((part) => (part.type === "tool-call" ? [part.toolCallId] : []));
    }
    if (role !== "tool") continue;
    const results = content.flatMap((part) => (part.type === "tool-result" ? [part.toolCallId] : []));
    wrong.push(...results.filter((call) => !asked.includes(call)).map((call) => `the result of ${call} has no call`));
    asked = asked.filter((call) => !results.includes(call));
  }
  end();
  const missing = [...open].filter((call) => !JSON.stringify(visibleMessages(state)).includes(`"call":"${call}"`));
  return [...wrong, ...missing.map((call) => `${call} is open and not shown`)];
}

test("every request is valid, however often its run was compacted", () => {
  const counts = { windows: 0, could: 0, open: 0 };
  const law = ({ strides }: { readonly strides: readonly { readonly outcome: { readonly state: State } }[] }): void => {
    for (const { state } of strides.map(({ outcome }) => outcome)) {
      expect(wrongWith(state)).toEqual([]);
      if (state.window !== undefined) counts.windows += 1;
      if (compactionRangeOf(state) === null) continue;
      counts.could += 1;
      if (state.open.length > 0) counts.open += 1;
      const made = compactionEvent(state);
      if (made.kind === "Compacted") expect(wrongWith(applyCompaction(state, made))).toEqual([]);
    }
  };
  fc.assert(fc.property(walks, law), { numRuns: 200 });
  for (const count of Object.values(counts)) expect(count).toBeGreaterThan(10);
});
