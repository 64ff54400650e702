/**
 * Sends a human's decision about a gate. Hashes freeze what is decided, and the first decision counts.
 */
import { extensionOf } from "../core/policy/extension.ts";
import { gateIn } from "../core/calls/held-calls.ts";
import { TOO_DEEP, isTooDeep } from "../codec/to-json.ts";
import { droppedBy } from "../codec/projection.ts";
import { NO_PROTO, protoIn } from "../core/dropped-names.ts";
import type { Agent } from "../ports/agent.ts";
import { bounded } from "../codec/value.ts";
import type { Grant } from "../core/policy/budget.ts";
import type { HumanDecision } from "../core/approval.ts";
import { decisionId } from "../protocol/ids.ts";
import type { Json } from "../core/json.ts";
import { SIZES } from "../codec/limits.ts";
import type { State } from "../core/state.ts";
import type { Row } from "../protocol/row.ts";
import type { World } from "../ports/world.ts";
import { refusalOf } from "../engine/context/budget-gate.ts";
import { loadAfterRedrive } from "../features/redrive/after-redrive.ts";
import {
  type Accepted,
  explainClosed,
  explainSent,
  afterDelivery,
  openGates,
  type DecisionFate,
} from "./decision-fate.ts";
import { checkThenDeliver } from "./look-then-deliver.ts";
import { keepValue } from "../history/write-objects.ts";
import { learnSecrets, redactionIn } from "../history/secrets.ts";
import { parseWith } from "../engine/tools/parsed-args.ts";
import { misfit, toolFor, toolNamed } from "../engine/tools/tools.ts";

interface Said {
  readonly run: string;
  readonly gate: string;
  readonly as: HumanDecision["as"];
  /** The arguments that replace the model's if the call is edited. */
  readonly args: Json;
  /**
   * The agent as the run will load it, if the sender has its code. Edited arguments are then checked before sending, and
   * the answer says whether it still has the tool.
   */
  readonly agent?: Agent | null;
  /** What the run may spend beyond its budget. Only for the gate of the budget. */
  readonly more?: Grant;
  readonly by: string;
  readonly note: string | null;
  /** How long to wait until the run has absorbed the decision, in milliseconds. By default it does not wait. */
  readonly waitMs?: number;
}

/** A decision that names no open gate is refused before any write, so that it cannot replace a valid decision. */
export function decide(world: World, said: Said): Promise<DecisionFate> {
  return checkThenDeliver<DecisionFate>(world, said.run, async (row) => {
    const state = await loadAfterRedrive(world, row);
    const gates = openGates(row, state);
    const gate = gates.find((each) => each.gate === said.gate);
    if (gate === undefined) return explainClosed(world, { row, state, gate: said.gate });
    if (gate.decision !== null) return { kind: "duplicate", decision: gate.decision };
    const decision = await decisionOf(world, { row, state, said });
    if ("kind" in decision) return decision;
    return {
      kind: "send",
      id: decisionId(said.gate),
      body: { kind: "decision", gate: said.gate, decision },
      onDelivered: async () => {
        const fate = await afterDelivery(world, { row, gate: said.gate, decision, waitMs: said.waitMs ?? 0 });
        if (fate.kind !== "accepted") return fate;
        const dropped = droppedOf(said, state);
        return { ...fate, ...(dropped.length > 0 && { dropped }), ...(isToolGone(said, state) && { toolGone: true }) };
      },
      onDuplicate: () => explainSent(world, { row, gate: said.gate }),
    };
  });
}

/** The decision to send, or why it is refused. */
async function decisionOf(
  world: World,
  { row, state, said }: { readonly row: Row; readonly state: State; readonly said: Said },
): Promise<HumanDecision | Exclude<DecisionFate, Accepted>> {
  const { as, more = {} } = said;
  const asks = extensionOf(state).gate;
  const why = refusalOf(state, { asks: asks?.gate === said.gate ? asks : null, as, more });
  if (why !== null) return { kind: "refused", why };
  if (as === "edit" && isTooDeep(said.args))
    return { kind: "refused", why: `the arguments cannot be kept: ${TOO_DEEP}` };
  const proto = as === "edit" ? protoIn(said.args) : null;
  if (proto !== null) return { kind: "refused", why: `the arguments have a member named ${proto}: ${NO_PROTO}` };
  const wrong = as === "edit" ? misfitOf(said, state) : null;
  if (wrong !== null) return { kind: "argsInvalid", why: wrong, asks: null };
  await learnSecrets(world);
  // The call runs with the recorded arguments. Redacted ones would not be what the human approved.
  if (as === "edit" && redactionIn(world).json(said.args) !== said.args)
    return { kind: "refused", why: SECRET_IN_EDIT };
  // The arguments stay in the state until the call is settled, and all open calls share that space.
  const inlineMax = Math.floor(SIZES.stateValueBytesMax / Math.max(1, state.open.length));
  const args = as === "edit" ? await keepValue(world, row, { json: said.args, inlineMax }) : null;
  const note = said.note === null ? null : bounded(said.note);
  const given = Object.keys(more).length === 0 ? {} : { more };
  return { as, args, by: bounded(said.by), note, ...given };
}

/** Why the edited arguments do not fit the tool; null if they do, or if the agent's code is not available. */
function misfitOf({ agent = null, gate, args }: Said, { open }: State): string | null {
  const call = open.find((each) => gateIn(each)?.gate === gate);
  const tool = agent === null || call === undefined ? null : toolFor(agent, call);
  return tool === null ? null : misfit(tool, args);
}

/** What the tool does not get of the edited arguments. Empty also if the agent's code is not available. */
function droppedOf({ as, agent = null, gate, args }: Said, { open }: State): readonly string[] {
  const call = open.find((each) => gateIn(each)?.gate === gate);
  const tool = as !== "edit" || agent === null || call === undefined ? null : toolFor(agent, call);
  const parsed = tool === null ? null : parseWith(tool, args);
  return parsed?.ok === true ? droppedBy(args, parsed.output) : [];
}

/** Whether the agent has the tool of the approved call no more. The tools of servers are not known here. */
function isToolGone({ as, agent = null, gate }: Said, { open }: State): boolean {
  const call = open.find((each) => gateIn(each)?.gate === gate);
  if (as === "deny" || agent === null || call === undefined || toolNamed(agent, call.tool) !== null) return false;
  return agent.sources?.some(({ prefix }) => call.tool.startsWith(prefix)) !== true;
}

const SECRET_IN_EDIT =
  "the arguments hold a secret or a credential, which would be kept with the run: leave it out; a tool asks for it with secrets.get";
