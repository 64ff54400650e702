/** The answer of a beat to its chain: what the run is, and where its execution goes next. */
import type { Payload, Reply, Route, TaskResult } from "../../protocol/chain.ts";
import type { Row } from "../../protocol/row.ts";

export type Answered = Extract<TaskResult, { readonly kind: "beat" }>;

/** What the next beat of the run needs to know, by the row. */
export const payloadOf = ({ run, born, chain, epoch, agent }: Row): Payload => ({ run, born, chain, epoch, agent });

/** `seconds`: how long the execution waits or parks, where the route does. */
export function answer(payload: Payload, route: Route, seconds = 1): Answered {
  const { run, born, chain, epoch, agent } = payload;
  const reply: Reply = { run, born, chain, epoch, agent, route, seconds };
  return { kind: "beat", reply };
}
