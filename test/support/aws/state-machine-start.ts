/** The machine of a deployment with the usual times, begun and led on by what the function of a beat says. */
import { answerBeat } from "../../../functions/machine.ts";
import { definitionOf } from "../../../src/adapters/aws/machine/asl.ts";
import type { MachineDefinition } from "../../../src/adapters/aws/machine/asl-states.ts";
import { firstInput } from "../../../src/adapters/aws/machine/machine-input.ts";
import { AFTER_BEAT, type Reply, type Route } from "../../../src/protocol/chain.ts";
import { type Outcome, type Running, execution } from "./state-machine.ts";

export const TIMES = { beatSeconds: 60, sweepSeconds: 120, rescueSeconds: 60, triesMax: 100_000, backoffSeconds: 150 };
export const FUNCTIONS = { beat: "cairn-beat", park: "cairn-park", sweep: "cairn-sweep" };
export const ISOLATED = { ...FUNCTIONS, agents: "cairn-beat_{}" };
/** Of a deployment whose agents have functions of their own, and of one in which they share one. */
export const DEFINITIONS = {
  isolated: definitionOf({ functions: ISOLATED, ...TIMES }),
  shared: definitionOf({ functions: FUNCTIONS, ...TIMES }),
};
export const definition = DEFINITIONS.isolated;
export const ROUTES = Object.keys(AFTER_BEAT) as readonly Route[];
export const PAYLOAD = { run: "local-abc", born: "b1", chain: 1, epoch: 0, agent: "clerk" };

export const reply = (of: {
  route: Route;
  seconds?: number;
  epoch?: number;
  chain?: number;
  behind?: true;
}): Reply => ({
  ...PAYLOAD,
  seconds: 1,
  ...of,
});
export const startMachine = (of: { readonly from?: MachineDefinition; readonly draw?: () => number } = {}): Running =>
  execution(of.from ?? definition, { name: "local-abc-b1-1", input: firstInput(PAYLOAD), draw: of.draw ?? (() => 0) });

/** What the function of a beat returns or throws, as the machine sees it. */
export function outcomeOf(answer: Reply, { shared = false }: { readonly shared?: boolean } = {}): Outcome {
  try {
    return {
      answer: answerBeat({ shared }, { reply: answer, code: "7" }),
    };
  } catch (error) {
    const { name, message } = error as Error;
    return { error: name, message };
  }
}

export const endWithReply = (running: Running, of: Parameters<typeof reply>[0]): Running =>
  running.end(outcomeOf(reply(of)));

export const tokenOf = ({ task }: Running): unknown => (task?.event as { readonly token?: string } | undefined)?.token;
export const attemptOf = ({ task }: Running): unknown =>
  (task?.event as { readonly attempt?: unknown } | undefined)?.attempt;
