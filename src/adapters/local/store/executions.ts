/**
 * The executions of the embedded chain in the store. Each change is one transaction around a pure step of
 * `protocol/execution.ts`. An attempt is sent only after its number is stored.
 */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { ChangedIntrinsic } from "../../../core/changed-intrinsic.ts";
import { decodePayload } from "../../../codec/row.ts";
import type { Payload } from "../../../protocol/chain.ts";
import { type TenantShare, type TenantShares, inFairOrder } from "../../../protocol/fair-share.ts";
import { RETRY_GROUP } from "../../../protocol/entry.ts";
import { randomHex } from "../random.ts";
import type { Executions, Ready } from "../../../ports/driven-store.ts";
import { type Store, atomically, reaching } from "./database.ts";
import { TENANT_OF_EXECUTION } from "./schema.ts";
import { sumOf } from "./integrity.ts";
import {
  type Execution,
  beginAttempt,
  applyFailure,
  goOnWith,
  newExecution,
  wakeExecution,
} from "../../../protocol/execution.ts";

/** The executions in that store. All operations throw an error of `store-errors.ts` if the store fails. */
export function executionsOf(store: Store): Executions {
  const table = tableOf(store.rows);
  const nextReady = store.rows.prepare(
    "SELECT readyAt FROM executions WHERE readyAt IS NOT NULL ORDER BY readyAt LIMIT 1",
  );
  // Schedule 139: an attempt acts only after its claim, which is durable at once and with it the begin of the attempt.
  // Without its settlement an execution counts as trying, and a supervisor after a power loss retries it, as it does
  // after any death.
  const bookkeeping = <T>(access: () => T): T =>
    store.rows.isTransaction ? access() : atomically(store, access, "later");
  return {
    start: (wanted) =>
      atomically(store, () => {
        const found = table.byName(wanted.name);
        if (found === null) table.insert(newExecution(wanted));
        return found;
      }),
    wake: (token, now) =>
      atomically(store, () => {
        const found = table.byToken(token);
        if (found === null || isOver(found)) return false;
        table.update(wakeExecution(found, now));
        return true;
      }),
    nextReadyAt: () => {
      const found = reaching(store, () => nextReady.get());
      return found === undefined ? null : Number(found["readyAt"]);
    },
    ready: (now, max, without = [], shares = {}) => reaching(store, () => table.ready(now, { max, without, shares })),
    begin: (name, now) =>
      bookkeeping(() => {
        const found = table.byName(name);
        if (found === null || found.readyAt === null || found.readyAt > now) return null;
        return table.update(beginAttempt(found, randomHex(16)));
      }),
    settle: (attempted, step) =>
      bookkeeping(() => {
        const found = table.byName(attempted.name);
        const isOut = found !== null && found.stage === "trying" && found.attempt === attempted.attempt;
        return isOut ? table.update(step(found)) : null;
      }),
    // Schedule 155: what is read here was not changed meanwhile. So the process goes on only while its attempt is out,
    // and the supervisor finds the beat that the process was at when it died.
    goOn: ({ execution: name, attempt, reply }) =>
      bookkeeping(() => {
        const found = table.byName(name);
        const isStillOut = found !== null && found.stage === "trying" && found.attempt === attempt;
        const next = isStillOut ? goOnWith(found, reply) : null;
        return next === null ? null : table.advance(next);
      }),
    together: bookkeeping,
    recover: (recovery) =>
      atomically(store, () => {
        const death = { ...recovery, atOnce: true, isDeath: true, cause: ENDED_WITH_SUPERVISOR };
        for (const execution of table.trying()) table.update(applyFailure(execution, death));
        // The cause of the failures may be fixed, so a new supervisor does not wait for the rest of a pause.
        for (const execution of table.backingOff()) table.update({ ...execution, readyAt: recovery.now });
      }),
  };
}

const ENDED_WITH_SUPERVISOR = "it ended with its supervisor";

type Found = Omit<Execution, "payload" | "changed"> & {
  readonly payload: string;
  readonly changed: string | null;
  readonly sum: string;
};

const OVER = { state: "End", stage: "ended", readyAt: null, token: null } as const;
const isOver = ({ stage }: Execution): boolean => stage === OVER.stage;
const UNKNOWN: Payload = { run: "", born: "", chain: 0, epoch: 0, agent: "" };

function tableOf(db: DatabaseSync) {
  const columns = "name, payload, state, stage, retry, died, cause, changed, attempt, readyAt, seconds, token, sum";
  const select = (where: string) => db.prepare(`SELECT ${columns} FROM executions WHERE ${where}`);
  const byName = select("name = ?");
  const byToken = select("token = ?");
  const trying = select("stage = 'trying'");
  const backingOff = select("stage = 'due' AND retry > 0");
  const insert = db.prepare(
    `INSERT INTO executions (${columns})
     VALUES (:name, :payload, :state, :stage, :retry, :died, :cause, :changed, :attempt, :readyAt, :seconds, :token, :sum)`,
  );
  const update = db.prepare(
    `UPDATE executions SET payload = :payload, state = :state, stage = :stage, retry = :retry, died = :died, cause = :cause,
     changed = :changed, attempt = :attempt, readyAt = :readyAt, seconds = :seconds, token = :token, sum = :sum WHERE name = :name`,
  );
  // It names no column of an index, so SQLite writes no page of one.
  const advance = db.prepare(
    `UPDATE executions SET payload = :payload, retry = :retry, cause = :cause, died = :died, changed = :changed, seconds = :seconds, sum = :sum
     WHERE name = :name`,
  );
  const endDamaged = db.prepare(
    `UPDATE executions SET state = 'End', stage = 'ended', readyAt = NULL, token = NULL, sum = '' WHERE name = ?`,
  );
  /**
   * A damaged execution counts as ended: the sweeper hands its run to the next execution, and no other run waits for
   * it.
   */
  const executionOf = ({ sum, ...found }: Found): Execution => {
    const payload = decodePayload(found.payload);
    if (payload !== null && sum === sumOf(found)) return { ...found, payload, changed: changeIn(found.changed) };
    endDamaged.run(found.name);
    return { ...found, payload: payload ?? UNKNOWN, changed: null, ...OVER };
  };
  const written = (execution: Execution) => {
    const changed = execution.changed === null ? null : JSON.stringify(execution.changed);
    const values = { ...execution, payload: JSON.stringify(execution.payload), changed };
    return { ...values, sum: sumOf(values) };
  };
  const allOf = (select: StatementSync): readonly Execution[] =>
    (select.all() as unknown as readonly Found[]).map(executionOf).filter((each) => !isOver(each));
  const foundOrNull = (found: unknown): Execution | null => (found === undefined ? null : executionOf(found as Found));

  const advanced = (execution: Execution) => {
    const { name, payload, retry, died, cause, changed, seconds, sum } = written(execution);
    return { name, payload, retry, died, cause, changed, seconds, sum };
  };

  return {
    byName: (name: string) => foundOrNull(byName.get(name)),
    byToken: (token: string) => foundOrNull(byToken.get(token)),
    trying: (): readonly Execution[] => allOf(trying),
    backingOff: (): readonly Execution[] => allOf(backingOff),
    ready: readyIn(db),
    insert: (execution: Execution): void => {
      insert.run(written(execution));
    },
    /** Stores an execution that goes on in its process: stage, attempt and token stay as they are. */
    advance: (execution: Execution): Execution => {
      advance.run(advanced(execution));
      return execution;
    },
    update: (execution: Execution): Execution => {
      update.run(written(execution));
      return execution;
    },
  };
}

/** Its sum has shown that it is what was written. */
const changeIn = (text: string | null): ChangedIntrinsic | null =>
  text === null ? null : (JSON.parse(text) as ChangedIntrinsic);

interface Wanted {
  readonly max: number;
  readonly without: readonly string[];
  readonly shares: TenantShares;
}

/** How many tenants a look reads the runs of. */
const TENANTS_MAX = 64;

/** Reads the executions that are ready, in the order in which they get places. */
function readyIn(db: DatabaseSync) {
  const agent = "CASE WHEN json_valid(payload) THEN payload ->> '$.agent' END";
  // The state whose task comes next, as `dueState` of `protocol/execution.ts` has it.
  const isBeat = "CASE stage WHEN 'waiting' THEN state <> 'Backoff' ELSE state = 'Beat' END";
  const tenant = TENANT_OF_EXECUTION;
  const select = (and: string) =>
    db.prepare(
      `SELECT name, stage, state, retry, cause, ${agent} AS agent, ${isBeat} AS isBeat, ${tenant} AS tenant
       FROM executions WHERE readyAt <= :now ${and} ORDER BY readyAt, executions.rowid LIMIT :max`,
    );
  const isLeft = `AND NOT (${isBeat} AND coalesce(${agent}, '') IN (SELECT value FROM json_each(:without)))`;
  const isOfTenant = `AND ${tenant} = :tenant`;
  const [all, some] = [select(""), select(isLeft)];
  const [allOf, someOf] = [select(isOfTenant), select(`${isLeft} ${isOfTenant}`)];
  // A cap holds back beats alone. The beats of tenants at their caps would hide what else these have.
  const noBeats = select(`AND NOT ${isBeat} AND ${tenant} IN (SELECT value FROM json_each(:full))`);
  // From one tenant to the next by the index, so that the runs between them are not read. Of many tenants those that have
  // waited for longest, since a look serves fewer. What has to wait whatever its tenant does not count, and neither do
  // tenants at their caps: they would hide one that began to wait later for as long as they are full.
  const tenantsBy = (isWaiting: string) =>
    db.prepare(
      `WITH RECURSIVE found (tenant) AS (
         SELECT min(${tenant}) FROM executions WHERE readyAt IS NOT NULL
         UNION ALL SELECT (SELECT min(${tenant}) FROM executions WHERE readyAt IS NOT NULL AND ${tenant} > found.tenant)
         FROM found WHERE found.tenant IS NOT NULL)
       SELECT tenant, (SELECT readyAt FROM executions WHERE readyAt IS NOT NULL AND ${tenant} = found.tenant ${isWaiting}
                       ORDER BY readyAt LIMIT 1) AS since
       FROM found
       WHERE tenant IS NOT NULL AND since <= :now AND tenant NOT IN (SELECT value FROM json_each(:full))
       ORDER BY since LIMIT ${TENANTS_MAX}`,
    );
  const [tenants, tenantsLeft] = [tenantsBy(""), tenantsBy(isLeft)];
  const beatsOut = db.prepare(
    `SELECT ${tenant} AS tenant, count(*) AS beats FROM executions
     WHERE stage = 'trying' AND ${isBeat} GROUP BY 1`,
  );
  const read = (now: number, { max, without }: Wanted) =>
    without.length === 0 ? all.all({ now, max }) : some.all({ now, max, without: JSON.stringify(without) });
  const readTenant = (now: number, { max, without }: Wanted, name: string) =>
    without.length === 0
      ? allOf.all({ now, max, tenant: name })
      : someOf.all({ now, max, tenant: name, without: JSON.stringify(without) });
  const tenantsOf = (now: number, { without }: Wanted, full: string) =>
    without.length === 0
      ? tenants.all({ now, full })
      : tenantsLeft.all({ now, full, without: JSON.stringify(without) });
  /** More may be ready than those that wait for longest, of tenants that began to wait later. */
  const ofTenants = (now: number, wanted: Wanted, out: ReadonlyMap<string, number>) => {
    const isFull = ([name, { concurrency = Infinity }]: readonly [string, TenantShare]): boolean =>
      (out.get(name) ?? 0) >= concurrency;
    const full = JSON.stringify(
      Object.entries(wanted.shares)
        .filter(isFull)
        .map(([name]) => name),
    );
    const found = tenantsOf(now, wanted, full).flatMap((each) => readTenant(now, wanted, String(each["tenant"])));
    return [...found, ...noBeats.all({ now, max: wanted.max, full })];
  };
  return (now: number, wanted: Wanted): readonly Ready[] => {
    const first = read(now, wanted);
    if (first.length === 0) return [];
    const out = new Map(beatsOut.all().map((each) => [String(each["tenant"]), Number(each["beats"])]));
    const more = first.length < wanted.max ? [] : ofTenants(now, wanted, out);
    const found = (more.length === 0 ? first : more).map(
      ({ name, agent, state, stage, retry, cause, isBeat, tenant }) => {
        const tries = stage === "due" ? Math.ceil(Number(retry) / (state === "Beat" ? RETRY_GROUP : 1)) : 0;
        return {
          name: String(name),
          tenant: String(tenant),
          agent: typeof agent === "string" ? agent : null,
          failures: tries - Number(tries > 0 && cause === ENDED_WITH_SUPERVISOR),
          isBeat: isBeat === 1,
        };
      },
    );
    return inFairOrder(found, { out, shares: wanted.shares, max: wanted.max });
  };
}
