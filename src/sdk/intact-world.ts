/**
 * A world that neither reads nor writes once a function of the language has changed in this process. What is read with a
 * broken function would look damaged, and what is written with one would be.
 */
import type { Intrinsics } from "../ports/intrinsics.ts";
import type { World } from "../ports/world.ts";

export function intactWorld(world: World, intrinsics: Intrinsics): World {
  const { table, inbox, leases, records, deltas, objects, chain } = world;
  return {
    ...world,
    table: intact(table, intrinsics),
    inbox: intact(inbox, intrinsics),
    leases: intact(leases, intrinsics),
    records: intact(records, intrinsics),
    deltas: intact(deltas, intrinsics),
    objects: intact(objects, intrinsics),
    chain: intact(chain, intrinsics),
    intrinsics,
  };
}

/** The same port, whose functions compare first. */
function intact<Port extends object>(port: Port, { check }: Intrinsics): Port {
  const { apply } = Reflect;
  const members = Object.entries(port).map(([name, member]: [string, unknown]) => [
    name,
    typeof member === "function"
      ? (...given: readonly unknown[]): unknown => {
          check();
          return apply(member, port, given);
        }
      : member,
  ]);
  return Object.fromEntries(members) as Port;
}
