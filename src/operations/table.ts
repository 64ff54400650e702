/**
 * The operation table: every operation of the CLI and the HTTP API, by name. It only collects: an operation is one file
 * `NAME.operation.ts`. The HTTP API has a route for each row with `http`, in this order.
 */
import { auditLogOperation } from "./access/audit-log.operation.ts";
import { tokenCreateOperation } from "./access/token-create.operation.ts";
import { tokenListOperation } from "./access/token-list.operation.ts";
import { tokenRevokeOperation } from "./access/token-revoke.operation.ts";
import { agentsOperation } from "./agents.operation.ts";
import { answerOperation } from "./answer.operation.ts";
import { approvalsOperation } from "./approvals.operation.ts";
import { assignOperation } from "./assign.operation.ts";
import { budgetOperation } from "./budget.operation.ts";
import { cancelAllOperation } from "./cancel-all.operation.ts";
import { cancelOperation } from "./cancel.operation.ts";
import { checkedAllOperation } from "./checked-all.operation.ts";
import { checkedOperation } from "./checked.operation.ts";
import { costOperation } from "./cost.operation.ts";
import { decideOperation } from "./decide.operation.ts";
import { diagnoseOperation } from "./diagnose.operation.ts";
import { exportOperation } from "./export.operation.ts";
import { fileOperation } from "./file.operation.ts";
import { forgetEntryOperation } from "./forget-entry.operation.ts";
import { forgetMemoryOperation } from "./forget-memory.operation.ts";
import { forkOperation } from "./fork.operation.ts";
import { healthOperation } from "./health.operation.ts";
import { ledgerOperation } from "./ledger.operation.ts";
import { listOperation } from "./list.operation.ts";
import { memoryEntryOperation } from "./memory-entry.operation.ts";
import { memoryOperation } from "./memory.operation.ts";
import { pauseScheduleOperation } from "./pause-schedule.operation.ts";
import { pauseOperation } from "./pause.operation.ts";
import { purgeOperation } from "./purge.operation.ts";
import { reconcileOperation } from "./reconcile.operation.ts";
import { redeliverOperation } from "./redeliver.operation.ts";
import { redriveOperation } from "./redrive.operation.ts";
import { replayOperation } from "./replay.operation.ts";
import { restartOperation } from "./restart.operation.ts";
import { restoredOperation } from "./restored.operation.ts";
import { resumeScheduleOperation } from "./resume-schedule.operation.ts";
import { resumeOperation } from "./resume.operation.ts";
import { runScheduleOperation } from "./run-schedule.operation.ts";
import { schedulesOperation } from "./schedules.operation.ts";
import { sendOperation } from "./send.operation.ts";
import { showOperation } from "./show.operation.ts";
import { signalOperation } from "./signal.operation.ts";
import { snapshotOperation } from "./snapshot.operation.ts";
import { startOperation } from "./start.operation.ts";
import { timelineOperation } from "./timeline.operation.ts";
import { upgradeOperation } from "./upgrade.operation.ts";
import { verifyOperation } from "./verify.operation.ts";
import { webhooksOperation } from "./webhooks.operation.ts";
import type { AnyOperation } from "./operation.ts";

/** The operation table. */
export const OPERATIONS = {
  start: startOperation,
  list: listOperation,
  show: showOperation,
  timeline: timelineOperation,
  ledger: ledgerOperation,
  cost: costOperation,
  diagnose: diagnoseOperation,
  approvals: approvalsOperation,
  agents: agentsOperation,
  file: fileOperation,
  verify: verifyOperation,
  snapshot: snapshotOperation,
  replay: replayOperation,
  export: exportOperation,
  send: sendOperation,
  decide: decideOperation,
  budget: budgetOperation,
  reconcile: reconcileOperation,
  answer: answerOperation,
  signal: signalOperation,
  assign: assignOperation,
  upgrade: upgradeOperation,
  pause: pauseOperation,
  resume: resumeOperation,
  cancel: cancelOperation,
  cancelAll: cancelAllOperation,
  restart: restartOperation,
  fork: forkOperation,
  redrive: redriveOperation,
  purge: purgeOperation,
  checked: checkedOperation,
  checkedAll: checkedAllOperation,
  restored: restoredOperation,
  schedules: schedulesOperation,
  pauseSchedule: pauseScheduleOperation,
  resumeSchedule: resumeScheduleOperation,
  runSchedule: runScheduleOperation,
  memory: memoryOperation,
  memoryEntry: memoryEntryOperation,
  forgetEntry: forgetEntryOperation,
  forgetMemory: forgetMemoryOperation,
  health: healthOperation,
  webhooks: webhooksOperation,
  redeliver: redeliverOperation,
  tokenCreate: tokenCreateOperation,
  tokenList: tokenListOperation,
  tokenRevoke: tokenRevokeOperation,
  auditLog: auditLogOperation,
} as const;

export type OperationName = keyof typeof OPERATIONS;

/** The same table with a uniform type, for code that treats all rows alike. */
export const ROWS: Readonly<Record<OperationName, AnyOperation>> = { ...OPERATIONS };
