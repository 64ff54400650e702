/**
 * `cairn-run/client`: starts runs, follows and steers them, over the HTTP API or directly over a store.
 *
 * @example
 *   const cairn = await connect<typeof agents>({ api: "http://127.0.0.1:7420" });
 *   const { run } = await cairn.start("refunds", { order: "A-1", complaint: "It never arrived." });
 *   for await (const event of cairn.events(run)) console.log(event.kind);
 *   const { status, result } = await cairn.wait<"refunds">(run);
 */
export { connect } from "./connect.ts";
export type { ApiTarget, StoreTarget } from "./targets.ts";
export type { Agents, Client, Decision, LiveItem, RunDocument, RunEvent, SentMessage, StartedRun } from "./client.ts";
export type { ClientFile } from "./files.ts";
export type { Asked, Steering } from "./perform.ts";
export { CairnError } from "./errors.ts";
