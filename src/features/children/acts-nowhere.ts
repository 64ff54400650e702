/**
 * Whether a child can act outside at all, whatever it does next. Only the declarations of its agent can say that of a
 * child that lives: what it has released so far is out of date when it is read (schedule 213).
 *
 * Schedule 205: the agent of a child that acts is deployed again without its tools while the child works. The code of
 * today says nothing about that child. So the declarations count only if the child runs under the version that they
 * belong to, and has released nothing that acts outside. The same holds for the children of the child.
 */
import { Unreadable } from "../../codec/canonical.ts";
import { RowUnreadable } from "../../codec/row.ts";
import type { Child } from "../../core/child.ts";
import { EFFECTS } from "../../core/calls/effects.ts";
import { ownWork } from "../../core/calls/outside.ts";
import type { State } from "../../core/state.ts";
import { findRow } from "../../history/damage.ts";
import { SegmentCache } from "../../history/load.ts";
import { loadVouched } from "../../history/vouch.ts";
import type { Row } from "../../protocol/row.ts";
import type { Runner } from "../../engine/context/runner.ts";

/**
 * True if the child can only have called tools of class `none`, and can call no others. A child whose state is not
 * known may do anything.
 */
export async function isHarmless(
  from: Pick<Runner, "world" | "agentOf" | "level">,
  { id, agent: name }: Pick<Child, "id" | "agent">,
): Promise<boolean> {
  const found = await from.agentOf(name);
  if (found.kind === "absent" || !(await actsNowhere(from.agentOf, name))) return false;
  const state = (await stateOfChild(from, id))?.state ?? null;
  if (state === null || state.agentVersion !== found.agent.version || ownWork(state) !== undefined) return false;
  for (const child of state.children) if (!(await isHarmless(from, child))) return false;
  return true;
}

/** The row of a child and its state. Null: it has no row, or cannot be read. */
export async function stateOfChild(
  { world, level }: Pick<Runner, "world" | "level">,
  run: string,
): Promise<{ readonly row: Row; readonly state: State } | null> {
  const row = await findRow(world, run, world.clock.now());
  if (row === null || row instanceof RowUnreadable) return null;
  try {
    return { row, state: (await loadVouched(world, row, new SegmentCache(), level)).state };
  } catch (error) {
    if (error instanceof Unreadable) return null;
    throw error;
  }
}

/**
 * True if each tool of the agent has the effect class `none`, and so have those of the agents of its own child tools. A
 * source may list any tool, and an agent that cannot be loaded may have any.
 */
export async function actsNowhere(
  agentOf: Runner["agentOf"],
  name: string,
  seen: ReadonlySet<string> = new Set(),
): Promise<boolean> {
  if (seen.has(name)) return true;
  const found = await agentOf(name);
  if (found.kind === "absent") return false;
  const { tools, sources = [] } = found.agent;
  if (sources.length > 0) return false;
  const above = new Set([...seen, name]);
  for (const { effect, child } of Object.values(tools)) {
    if (child === undefined && EFFECTS[effect].actsOutside) return false;
    if (child !== undefined && !(await actsNowhere(agentOf, child.agent, above))) return false;
  }
  return true;
}
