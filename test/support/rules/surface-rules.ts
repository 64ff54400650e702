/** Rules for surfaces: how they know worlds, and how they change runs. */
import { type Check, type Rule, imports } from "./rules.ts";
import { type Node, memberOf, nameOf } from "./source.ts";

/** Surfaces know a world by its provider: another world is then one more line in the list of providers. */
const knowingAdapter = imports(({ from, ours }) => ours && from.startsWith("src/adapters/"));

/** Modules that only read, and the table itself. A reader that attaches changes no run. */
const LOOKING =
  /^src\/operations\/(operation|perform|table|caller-outcome|views|labels|list|approvals|replay|schedules|attach|live-cursor|live-page|summary|budget-meter|caller-view|access\/check-token)\.ts$/;
const READING = /^(read|readKey|list|alive|unread|cursorOf)$/;

/** A surface that changes a run without the operation table: it would have a scope, words and codes of its own. */
const bypassingTable: Check = {
  ...imports(
    ({ from, ours, erased }) => ours && !erased && /^src\/(operations|engine)\//.test(from) && !LOOKING.test(from),
  ),
  node: (node) => {
    const isOfTable =
      node.type === "MemberExpression" && /\b(table|inbox|leases)$/.test(memberOf(node["object"] as Node));
    return isOfTable && !READING.test(nameOf(node["property"]));
  },
};

/** The name of a world that decides something. `local` alone is a tenant as well, and `memory` a command. */
const askingWhichWorld: Check = {
  node: (node) => {
    if (/^is(Aws|Local|Memory)$/.test(nameOf(node))) return true;
    const value = node.type === "Literal" ? node["value"] : null;
    const isCompared = node.parent?.type === "BinaryExpression" || node.parent?.type === "SwitchCase";
    return value === "aws" || ((value === "local" || value === "memory") && isCompared);
  },
};

export const SURFACE_RULES: readonly Rule[] = [
  {
    says: "a world is known by its provider, and its adapter by the list of providers and by what runs inside of it",
    todo: "import the provider of the world (src/ports/world-provider.ts), or open the world through src/compose/worlds.ts",
    where: /^src\/(?!adapters\/|chaos\/|testing\/kit\/|workers\/|compose\/(worlds|workers)\/)/,
    check: knowingAdapter,
    bites: [
      ["src/cli/x.ts", 'import { localWorld } from "../adapters/local/world.ts";'],
      ["src/cli/commands/x.ts", 'const { inspectAws } = await import("../../adapters/aws/inspection.ts");'],
      ["src/doctor/x.ts", 'import type { StoreSeen } from "../adapters/local/inspection.ts";'],
    ],
    spares: [["src/cli/x.ts", 'import type { WorldProvider } from "../ports/world-provider.ts";']],
  },
  {
    says: "nothing but the provider of a world asks which world it is",
    todo: "ask the provider what the world can do (provider.can), not for its name",
    where: /^src\/(?!adapters\/|compose\/worlds(\.ts$|\/))/,
    check: askingWhichWorld,
    bites: [
      ["src/cli/x.ts", 'if (flags.world === "aws") refuse();'],
      ["src/cli/x.ts", 'const world: "local" | "aws" = named;'],
      ["src/cli/x.ts", 'if (provider.name !== "local") refuse();'],
      ["src/cli/x.ts", 'switch (name) { case "memory": refuse(); }'],
      ["src/cli/x.ts", "const isAws = settings.aws !== null;"],
    ],
    spares: [
      ["src/cli/x.ts", 'const tenant = "local"; if (provider.can.rollout) move("aws-table");'],
      ["src/cli/x.ts", 'program.command("memory");'],
      ["src/compose/worlds.ts", 'const { awsProvider } = await import("./worlds/aws.ts");'],
    ],
  },
  {
    says: "a surface changes runs through the operation table",
    todo: "perform the operation of the table (src/operations/table.ts), or add one",
    where: /^src\/(api|server|cli)\//,
    check: bypassingTable,
    bites: [
      ["src/cli/commands/x.ts", 'import { purge } from "../../operations/purge.ts";'],
      ["src/cli/commands/x.ts", 'import { type Assigned, assign } from "../../operations/assign.ts";'],
      ["src/cli/commands/x.ts", 'import { request } from "../../engine/loop/request.ts";'],
      ["src/api/x.ts", "await world.inbox.deliver(delivery);"],
      ["src/api/x.ts", "await opened.world.table.decide({ run, born, now }, PURGE);"],
    ],
    spares: [
      ["src/cli/commands/x.ts", 'import { OPERATIONS } from "../../operations/table.ts";'],
      ["src/cli/commands/x.ts", 'import type { Purged } from "../../operations/purge.ts";'],
      ["src/cli/commands/x.ts", "await world.table.read(run, now); await world.table.list(query);"],
    ],
  },
];
