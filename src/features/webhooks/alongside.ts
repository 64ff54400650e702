/** Delivers notifications while a sweep runs, so that a slow endpoint holds back no run. */
import { sentenceOf } from "../../codec/value.ts";
import { alarm } from "../../history/alarm.ts";
import type { Invocation } from "../../ports/tasks.ts";
import type { World } from "../../ports/world.ts";
import { deliverNotifications } from "./deliver.ts";

/** The result of the sweep. A delivery that fails is an alarm, and the next sweep repeats it. */
export async function withDeliveries<T>(world: World, invocation: Invocation, sweep: Promise<T>): Promise<T> {
  const delivered = deliverNotifications(world, invocation).catch((error: unknown) =>
    alarm(world, "", { what: "WebhookFailed", why: sentenceOf(error) }),
  );
  const [swept] = await Promise.all([sweep, delivered]);
  return swept;
}
