/**
 * Asks the approval rule of a tool whether a human has to approve a call. A gate never opens by accident: a rule that
 * throws, rejects, gives no answer in time or returns something else than a reason or false asks a human.
 */
import type { Tool } from "../../ports/agent.ts";
import { bounded } from "../../codec/value.ts";
import type { ActiveRun } from "../../engine/context/active-run.ts";
import { askInTime } from "../../engine/tools/ask-in-time.ts";
import { callContextOf } from "../../engine/tools/tools.ts";

/** How long a rule may take, in milliseconds. */
const RULE_MS_MAX = 10_000;

/** Why a human has to approve the call, or null. `input` makes its parsed arguments. */
export async function reasonToAsk(
  run: ActiveRun,
  { approval, name }: Pick<Tool, "approval"> & { readonly name: string },
  input: () => unknown,
): Promise<string | null> {
  if (approval === "never") return null;
  if (approval === "always") return "this tool always needs approval";
  const context = await callContextOf(run);
  const asked = { what: `the approval policy of tool ${name}`, most: RULE_MS_MAX };
  const said = await askInTime(run, asked, async () => reasonIn(await approval(input(), context)));
  if (said.kind === "late") return bounded(`its approval policy gave ${said.why}`);
  if (said.kind === "threw") return bounded(`its approval policy threw: ${said.why}`);
  return said.value === null ? null : bounded(said.value);
}

function reasonIn(given: unknown): string | null {
  if (given === false) return null;
  return typeof given === "string" ? given : `its approval policy returned no reason and not false: ${String(given)}`;
}
