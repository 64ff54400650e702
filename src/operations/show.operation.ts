import { type RunMissing, RESPONSES, operation, runInput } from "./operation.ts";
import { type Shown, showRow } from "./views.ts";
import { asJudged } from "./wait-views.ts";
import type { Syntaxes } from "./syntax.ts";

export const showOperation = operation({
  scope: "runs:read",
  writes: false,
  typed: [{ command: "show" }],
  help: "show the status of a run, its cost, and what it needs",
  input: runInput,
  run: async (
    { world, agentOf, row: seen },
    input,
  ): Promise<RunMissing | { readonly kind: "shown"; readonly shown: Shown }> => {
    const row = seen ?? (await world.table.read(input.run, world.clock.now()));
    const shown = row === null ? null : await showRow(world, row);
    if (row === null || shown === null) return { kind: "missing" };
    if (shown.waits.length === 0) return { kind: "shown", shown };
    // Code that cannot be loaded now judges nothing, and shows no form.
    const agent = await agentOf(row.agent).catch(() => null);
    return { kind: "shown", shown: { ...shown, waits: shown.waits.map((wait) => asJudged(wait, agent)) } };
  },
  outcomes: { shown: RESPONSES.shown, missing: RESPONSES.missing },
  over: ["store", "http"],
  http: { method: "get", path: "/runs/{run}" },
});

export const showSyntax = (): Syntaxes => ({ show: { group: "Inspecting", words: "<run>" } });
