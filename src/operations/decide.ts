/**
 * A person decides about a call that waits for approval. What is decided is frozen by its hashes (seed 3), and the first
 * decision counts.
 */
import { TOO_DEEP, isTooDeep } from "../codec/to-json.ts";
import type { Agent } from "../ports/agent.ts";
import { bounded } from "../codec/value.ts";
import type { Grant } from "../core/policy/budget.ts";
import type { Decision } from "../core/event.ts";
import { extensionOf } from "../core/policy/extension.ts";
import { decisionId } from "../protocol/ids.ts";
import type { Json } from "../core/json.ts";
import { SIZES } from "../codec/limits.ts";
import type { State } from "../core/state.ts";
import type { Row } from "../protocol/row.ts";
import type { World } from "../ports/world.ts";
import { refusalOf } from "../engine/context/budget-gate.ts";
import { loadAboutToBe } from "../history/after-redrive.ts";
import { type Accepted, aboutClosed, aboutSent, afterDelivery, openGates, type Decided } from "./decision-fate.ts";
import { lookThenDeliver } from "./look-then-deliver.ts";
import { keepValue } from "../history/write-objects.ts";
import { knowSecrets, redactionIn } from "../history/secrets.ts";
import { misfit, toolFor } from "../engine/tools/tools.ts";

interface Said {
  readonly run: string;
  readonly gate: string;
  readonly as: Decision["as"];
  /** What the call shall be run with, if it is edited. */
  readonly args: Json;
  /** The agent as its run will load it, where the sender has its code: such arguments are checked before they are sent. */
  readonly agent?: Agent | null;
  /** What the run may spend beyond its budget, if that is what is asked. */
  readonly more?: Grant;
  readonly by: string;
  readonly note: string | null;
  /** How long to wait until the run has taken the decision in. Unless told, the sender learns that it waits. */
  readonly waitMs?: number;
}

/** Whatever names no open gate is refused before any write, so that it cannot take the place of a good decision. */
export function decide(world: World, of: Said): Promise<Decided> {
  return lookThenDeliver<Decided>(world, of.run, async (row) => {
    const state = await loadAboutToBe(world, row);
    const gates = openGates(row, state);
    const gate = gates.find((each) => each.gate === of.gate);
    if (gate === undefined) return aboutClosed(world, { row, state, gate: of.gate });
    if (gate.decision !== null) return { kind: "duplicate", decision: gate.decision };
    const decision = await decisionOf(world, { row, state, said: of });
    if ("kind" in decision) return decision;
    return {
      kind: "send",
      id: decisionId(of.gate),
      body: { kind: "decision", gate: of.gate, decision },
      onDelivered: () => afterDelivery(world, { row, gate: of.gate, decision, waitMs: of.waitMs ?? 0 }),
      onDuplicate: () => aboutSent(world, { row, gate: of.gate }),
    };
  });
}

/** What is sent about that gate, or why nothing is. */
async function decisionOf(
  world: World,
  { row, state, said }: { readonly row: Row; readonly state: State; readonly said: Said },
): Promise<Decision | Exclude<Decided, Accepted>> {
  const { as, more = {} } = said;
  const asks = extensionOf(state).gate;
  const why = refusalOf(state, { asks: asks?.gate === said.gate ? asks : null, as, more });
  if (why !== null) return { kind: "refused", why };
  if (as === "edit" && isTooDeep(said.args))
    return { kind: "refused", why: `the arguments cannot be kept: ${TOO_DEEP}` };
  const wrong = as === "edit" ? misfitOf(said, state) : null;
  if (wrong !== null) return { kind: "argsInvalid", why: wrong, asks: null };
  await knowSecrets(world);
  // What runs is what is recorded, and a reference is not what the person meant to approve.
  if (as === "edit" && redactionIn(world).json(said.args) !== said.args)
    return { kind: "refused", why: SECRET_IN_EDIT };
  // It stays in the state until its call is settled, and all open calls share that room.
  const inlineMax = Math.floor(SIZES.stateValueBytesMax / Math.max(1, state.open.length));
  const args = as === "edit" ? await keepValue(world, row, { json: said.args, inlineMax }) : null;
  const note = said.note === null ? null : bounded(said.note);
  const given = Object.keys(more).length === 0 ? {} : { more };
  return { as, args, by: bounded(said.by), note, ...given };
}

/** Where the code of the run is at hand: why the arguments do not fit the tool of the call; else null. */
function misfitOf({ agent = null, gate, args }: Said, { open }: State): string | null {
  const call = open.find((each) => each.gate?.gate === gate);
  const tool = agent === null || call === undefined ? null : toolFor(agent, call);
  return tool === null ? null : misfit(tool, args);
}

const SECRET_IN_EDIT =
  "the arguments hold a secret or a credential, which would be kept with the run: leave it out; a tool asks for it with secrets.get";
