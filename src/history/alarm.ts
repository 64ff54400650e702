/**
 * Raises an alarm: an operator has to look, since cairn cannot repair the cause itself. cairn goes on or skips the run.
 */
import type { World } from "../ports/world.ts";
import { redactionIn } from "./secrets.ts";

export function alarm(
  world: Pick<World, "clock" | "telemetry"> & Partial<Pick<World, "secrets">>,
  run: string,
  cause: { readonly what: string; readonly why: string },
): void {
  const why = redactionIn(world).text(cause.why);
  world.telemetry.record({ at: world.clock.now(), run, level: "alarm", what: cause.what, detail: { why } });
}
