/**
 * A beat of a tenant that may have so many at once, where no supervisor hands out places: on AWS each execution starts its
 * own beats. The places of a tenant are one record, which only the version that was read may be replaced by.
 *
 * Schedule 276: two beats of a tenant read that one place is left. The write of the second one is refused, so it reads again,
 * finds none, and waits without a process.
 */
import * as z from "zod";
import { Unreadable } from "../../codec/canonical.ts";
import { tenantOf } from "../../core/ids.ts";
import type { Json } from "../../core/json.ts";
import { swapRecord } from "../../history/record-swap.ts";
import { patient, unitFrom } from "../../history/resolve-ambiguous-write.ts";
import type { Invocation } from "../../ports/tasks.ts";
import type { World } from "../../ports/world.ts";
import type { Task } from "../../protocol/chain.ts";
import { type TenantPlaces, withPlace, withoutPlace } from "../../protocol/tenant-places.ts";
import type { Runner } from "../context/runner.ts";
import { type BeatResult, beat } from "./beat.ts";

/** The most beats of a tenant at once, by its name. A tenant without a number has no cap. */
export type PlacesByTenant = Readonly<Record<string, number>>;

/** How long a beat contends for the record. After that it waits as if no place were free. */
const PATIENCE_MS = 2_000;
/** How long a run waits before it asks again, in seconds; drawn, so that not all ask at once. */
const WAIT_SECONDS = { min: 5, max: 15 } as const;
const KEPT_SECONDS = 24 * 3_600;

export async function beatInPlace(
  runner: Runner,
  places: PlacesByTenant,
  asked: { readonly task: Extract<Task, { readonly kind: "beat" }>; readonly invocation: Invocation },
): Promise<BeatResult> {
  const { task, invocation } = asked;
  const { world } = runner;
  const { run, born, chain, epoch, agent } = task.payload;
  const tenant = tenantOf(run);
  const most = Object.hasOwn(places, tenant) ? places[tenant] : undefined;
  if (most === undefined) return beat(runner, task, invocation);
  const { rescueMs, backoffMsMax, skewMs } = world.limits;
  // A retry finds the place of its run: it comes within these times.
  const until = invocation.deadline + rescueMs + backoffMsMax + skewMs;
  const { retry } = task.attempt;
  const place = { epoch, retry, holder: world.random.hex(), until };
  const isTaken = await changed(world, tenant, {
    change: (before) => withPlace(before, { run, place, most, now: world.clock.now() }),
    until: world.clock.now() + PATIENCE_MS,
  });
  // A retry that finds its place taken after all goes on: see schedule 279.
  if (!isTaken && retry === 0) {
    const { min, max } = WAIT_SECONDS;
    const seconds = min + Math.floor((max - min) * unitFrom(world.random.hex()));
    const record = { at: world.clock.now(), run, level: "trace", what: "WaitsForPlace" } as const;
    world.telemetry.record({ ...record, detail: { tenant, most, seconds } });
    return { kind: "beat", reply: { run, born, chain, epoch, agent, route: "wait", seconds } };
  }
  // After an error its chain tries the beat again, which then finds the place of its run.
  const result = await beat(runner, task, invocation);
  const left = invocation.deadline - world.limits.drainMs / 4;
  const gone = {
    change: (before: TenantPlaces) => withoutPlace(before, { run, holder: place.holder }),
    until: Math.min(left, world.clock.now() + PATIENCE_MS),
  };
  // What is not given up in time, or in an outage, is free when its time is over.
  if (world.clock.now() < left) await changed(world, tenant, gone).catch(() => undefined);
  return result;
}

/** False: it stays as it is, or others have changed it all the time. */
async function changed(
  world: World,
  tenant: string,
  asked: { readonly change: (before: TenantPlaces) => TenantPlaces | null; readonly until: number },
): Promise<boolean> {
  const { change, until } = asked;
  const { records, clock } = world;
  const key = { kind: "rate", about: `tenant ${tenant}`, id: "places" } as const;
  const pause = patient({ ...world, until });
  do {
    const found = await records.get(key, clock.now()).catch(damaged);
    const before = placesIn(found === null || found instanceof Unreadable ? {} : found.body);
    const next = change(before);
    if (next === null) return false;
    if (next === before) return true;
    const swap = { key, tenant, found, body: next as unknown as Json, keptSeconds: KEPT_SECONDS };
    if (await swapRecord(world, swap)) return true;
  } while (await pause());
  return false;
}

/** A damaged record is replaced: its places were for minutes, and no beat of the tenant could begin. */
function damaged(error: unknown): Unreadable {
  if (error instanceof Unreadable) return error;
  throw error;
}

const count = z.int().nonnegative();

/** The stored form. */
export const stored: z.ZodType<TenantPlaces> = z.record(
  z.string(),
  z.object({ epoch: count, retry: count, holder: z.string(), until: count }),
);

const placesIn = (body: Json): TenantPlaces => stored.safeParse(body).data ?? {};
