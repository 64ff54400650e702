/**
 * Detects contradictions between tool results, as the agent's `claims` reads them. If two tools contradict each other
 * repeatedly, the model is told once; if they continue, the run is stopped. The check runs before each model call and
 * keeps no state, because the transcript shows what the model was told.
 */
import type { Agent } from "../../ports/agent.ts";
import { asJson, bounded, sentenceOf } from "../../codec/value.ts";
import type { Trouble } from "../../core/policy/recovery.ts";
import {
  type Claims,
  type Contradiction,
  CONFLICT_NOTICE,
  findContradiction,
  toolTurnsIn,
  conflictWasReported,
} from "../../core/policy/contradictions.ts";
import type { MadeCall } from "../../core/policy/loops.ts";
import { messagesOfRestart } from "../../core/policy/window.ts";
import type { ActiveRun } from "../context/active-run.ts";
import { signalCrack } from "../context/signal-crack.ts";
import { escalate } from "./topology.ts";
import { toolNamed } from "../tools/tools.ts";

/**
 * Returns what to do about a contradiction, and signals it. Null if there is none. `moved`: the topology escalates it to
 * a human or another model.
 */
export async function detectContradiction(run: ActiveRun, agent: Agent): Promise<Trouble | "moved" | null> {
  const messages = messagesOfRestart(run.state);
  const turns = toolTurnsIn(messages, (tool) => (toolNamed(agent, tool)?.claims ?? null) !== null);
  const claims = new Map<MadeCall, Claims>();
  for (const call of new Set(turns.flatMap(({ one, other }) => [...one, ...other]))) {
    claims.set(call, await claimsOf(run, agent, call));
  }
  const found = findContradiction(turns, (call) => claims.get(call));
  if (found === null) return null;
  const why = inWords(found);
  signalCrack(run, "oscillation", why);
  const failure = { code: "Contradiction", message: why };
  if (!conflictWasReported(messages)) return { kind: "conflict", failure, say: told(found) };
  return escalate(run, agent, { why, say: told(found) }) ? "moved" : { kind: "loop", failure };
}

/**
 * The facts that a tool result claims, also if the result is large. A result that the agent's code cannot read claims
 * nothing.
 */
async function claimsOf(run: ActiveRun, agent: Agent, { tool, result }: MadeCall): Promise<Claims> {
  const json = await run.json(result);
  try {
    const made: unknown = toolNamed(agent, tool)?.claims?.(json);
    // The promise is not awaited. Its rejection must not end the process.
    if (made instanceof Promise) made.catch(() => undefined);
    const claims = asJson(made);
    if (!claims.ok) throw new Error(claims.why);
    const { json: facts } = claims;
    if (typeof facts !== "object" || facts === null || Array.isArray(facts)) throw new Error("they are no record");
    return facts as Claims;
  } catch (error) {
    const { clock, telemetry } = run.world;
    const line = `its claims cannot be read: ${sentenceOf(error)}`;
    telemetry.record({ at: clock.now(), run: run.row.run, level: "trace", what: "log", detail: { tool, line } });
    return {};
  }
}

/** The contradiction for humans and events. It names the fact, but never the claimed values. */
function inWords({ fact, claimed }: Contradiction): string {
  const [one, other] = claimed.map(([tool]) => tool);
  return bounded(`${one} and ${other} contradict each other about ${JSON.stringify(fact)}, again and again`, 500);
}

/** The contradiction for the model, with the claimed values. */
const told = ({ fact, claimed }: Contradiction): string =>
  `${CONFLICT_NOTICE}, and did so before. About ${JSON.stringify(fact)} ` +
  `${claimed.map(([tool, value]) => `${tool} says ${bounded(JSON.stringify(value), 500)}`).join(", and ")}. ` +
  "Asking them once more will not settle it. Find out by other means which one is right; if you cannot, " +
  "say so in words, and what each of them says.";
