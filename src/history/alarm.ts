/** What an operator has to look at: cairn goes on, or leaves a run alone, and cannot mend it by itself. */
import type { World } from "../ports/world.ts";
import { redactionIn } from "./secrets.ts";

export function alarm(
  world: Pick<World, "clock" | "telemetry"> & Partial<Pick<World, "secrets">>,
  run: string,
  of: { readonly what: string; readonly why: string },
): void {
  const why = redactionIn(world).text(of.why);
  world.telemetry.record({ at: world.clock.now(), run, level: "alarm", what: of.what, detail: { why } });
}
