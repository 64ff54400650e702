/**
 * What the results of tools claim, as their agent reads it: where two contradict each other again and again, the model is
 * told once, and a run that goes on like that is stopped. It is looked at before the model is asked, and nothing of it is
 * kept: what the model was told is in the transcript.
 */
import type { Agent } from "../../ports/agent.ts";
import { asJson, bounded, sentenceOf } from "../../codec/value.ts";
import type { Trouble } from "../../core/policy/recovery.ts";
import {
  type Claims,
  type Contradiction,
  TOLD,
  contradictionIn,
  turnsIn,
  wasTold,
} from "../../core/policy/contradictions.ts";
import type { Made } from "../../core/policy/loops.ts";
import { ofAttempt } from "../../core/policy/window.ts";
import type { ActiveRun } from "../context/active-run.ts";
import { toolNamed } from "../tools/tools.ts";

/** Null while nothing contradicts; else the crack is signalled. */
export async function conflictIn(run: ActiveRun, agent: Agent): Promise<Trouble | null> {
  const messages = ofAttempt(run.state);
  const turns = turnsIn(messages, (tool) => (toolNamed(agent, tool)?.claims ?? null) !== null);
  const claims = new Map<Made, Claims>();
  for (const call of new Set(turns.flatMap(({ one, other }) => [...one, ...other]))) {
    claims.set(call, await claimsOf(run, agent, call));
  }
  const found = contradictionIn(turns, (call) => claims.get(call));
  if (found === null) return null;
  const why = inWords(found);
  run.record({ kind: "CrackSignalled", at: run.now, crack: "oscillation", why });
  const failure = { code: "Contradiction", message: why };
  return wasTold(messages) ? { kind: "loop", failure } : { kind: "conflict", failure, say: told(found) };
}

/** Of a large result as well. What the agent's code cannot read claims nothing. */
async function claimsOf(run: ActiveRun, agent: Agent, { tool, result }: Made): Promise<Claims> {
  const json = await run.json(result);
  try {
    const made: unknown = toolNamed(agent, tool)?.claims?.(json);
    // Nobody waits for it, and if it fails that must not end the process.
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

/** For people and events: which fact, never what is claimed of it. */
function inWords({ fact, claimed }: Contradiction): string {
  const [one, other] = claimed.map(([tool]) => tool);
  return bounded(`${one} and ${other} contradict each other about ${JSON.stringify(fact)}, again and again`, 500);
}

const told = ({ fact, claimed }: Contradiction): string =>
  `${TOLD}, and did so before. About ${JSON.stringify(fact)} ` +
  `${claimed.map(([tool, value]) => `${tool} says ${bounded(JSON.stringify(value), 500)}`).join(", and ")}. ` +
  "Asking them once more will not settle it. Find out by other means which one is right; if you cannot, " +
  "say so in words, and what each of them says.";
