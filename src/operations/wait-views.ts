/** The view of the calls of a run that wait for an answer, an event or a time. */
import { heldWait } from "../core/calls/held-calls.ts";
import { argsOf } from "../core/calls/ledger.ts";
import type { Json } from "../core/json.ts";
import type { Value } from "../core/message.ts";
import type { State } from "../core/state.ts";
import type { AtLimit, WaitKind } from "../core/wait.ts";
import { waitSchemaOf } from "../features/waits/engine.ts";
import type { Agent } from "../ports/agent.ts";
import { answerId } from "../protocol/ids.ts";

/** A call that waits, with what it asks for. Times are epoch milliseconds. */
export interface OpenWait {
  readonly call: string;
  readonly tool: string;
  readonly for: WaitKind;
  /** The name of the event; null where it waits for none. */
  readonly event: string | null;
  /** The arguments of the call, such as the question. */
  readonly args: Json;
  /** What fits, as JSON Schema; null where that is not recorded. */
  readonly schema: Json;
  /** When the wait ends without it; null: as long as a run may wait. */
  readonly until: number | null;
  readonly atLimit: AtLimit["kind"];
  /** The number of the question: it is asked again where what came does not fit. */
  readonly asked: number;
  /** Why what came last does not fit; null if nothing was refused. */
  readonly refused: string | null;
  /** What it waits for has come. Also true for an answer that is still in the inbox. */
  readonly answered: boolean;
}

/**
 * The wait with the form by which an answer is judged: that of the code as it is now, which may be another one than when
 * the question was asked. Without the code it is the recorded one.
 */
export function asJudged(wait: OpenWait, agent: Pick<Agent, "tools"> | null): OpenWait {
  const tool = agent !== null && Object.hasOwn(agent.tools, wait.tool) ? agent.tools[wait.tool] : undefined;
  const rule = tool?.wait;
  return rule === undefined || rule.accepts === null ? wait : { ...wait, schema: waitSchemaOf(rule).schema ?? null };
}

/** The waits of the state. `isSent`: whether the inbox holds a message with this ID. */
export function openWaits(
  state: State,
  { isSent, json }: { readonly json: (value: Value) => Promise<Json>; readonly isSent: (id: string) => boolean },
): Promise<readonly OpenWait[]> {
  const waits = state.open.flatMap((open) => {
    const wait = heldWait(open);
    return wait === undefined ? [] : [{ ...open, wait }];
  });
  return Promise.all(
    waits.map(async ({ call, tool, wait }): Promise<OpenWait> => {
      const { event = null, schema = null, until, atLimit, question, given, refused = null } = wait;
      const answered = given !== undefined || (wait.for === "answer" && isSent(answerId(call, question)));
      const args = await json(argsOf(state, call));
      return {
        call,
        tool,
        for: wait.for,
        event,
        args,
        schema,
        until,
        atLimit: atLimit.kind,
        asked: question,
        refused,
        answered,
      };
    }),
  );
}
