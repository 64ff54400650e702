/** An operator lets a run continue with another version of its agent; see `operations.ts`. */
import { upgradesOf } from "../../../src/core/policy/holds.ts";
import type { State } from "../../../src/core/state.ts";
import { AT } from "../states/states-and-events.ts";
import type { WalkOperation } from "./operation.ts";

/** An operator accepts the version for which the run waits, now and then as an answer to another question. */
export function acceptUpgradeOperations(state: State): readonly WalkOperation[] {
  const { lack, questions } = upgradesOf(state);
  if (lack?.kind !== "upgrade") return [];
  const body = { kind: "upgrade", to: lack.to, by: "ada" } as const;
  const ids = (question: number): readonly string[] =>
    Array.from({ length: state.absorbed.length + 1 }, (_, index) => `upgrade#${question}#${index}`);
  const id = (question: number): string => ids(question).find((each) => !state.absorbed.includes(each)) ?? "";
  return [questions, questions + 9].map((question) => ({
    events: () => [
      { kind: "MessageAbsorbed", at: AT, stage: "taken", message: id(question), body: { ...body, question } },
    ],
  }));
}
