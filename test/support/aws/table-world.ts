/** What the cases of the contract need of a table on DynamoDB in memory, besides leases and announced removals. */
import { ATTRIBUTES } from "../../../src/adapters/aws/table/attributes.ts";
import { itemKey } from "../../../src/adapters/aws/table/item.ts";
import type { RunTable } from "../../../src/ports/run-table.ts";
import type { RunTableWorld } from "../../../src/testing/conformance/run.ts";
import type { DynamoTable } from "./dynamo-table.ts";

const unused = () => Promise.reject(new Error("no case about rows needs this"));

export function tableWorld(
  memory: DynamoTable,
  { table, inbox }: { readonly table: RunTable; readonly inbox: RunTableWorld["inbox"] },
): RunTableWorld {
  return {
    ...{ table, inbox, tenant: "conformance" },
    leases: { acquire: unused, release: unused } as never,
    setFormat: async (id, format) => memory.put({ ...memory.item(id), [ATTRIBUTES.format]: { N: String(format) } }),
    addField: async (id) => memory.put({ ...memory.item(id), future: { S: "kept" } }),
    hasField: async (id) => memory.item(id)?.["future"] !== undefined,
    damage: async (id) => {
      const { [ATTRIBUTES.agent]: _, ...item } = memory.item(id) ?? {};
      memory.put({ ...item, ...itemKey(id, "row") });
    },
    expire: async (now) => {
      const runs = memory.sent.flatMap(({ input }) => input.Key?.[ATTRIBUTES.run]?.S ?? []);
      const isExpired = (id: string) => Number(memory.item(id)?.[ATTRIBUTES.expiresAtSec]?.N) * 1_000 <= now;
      runs.filter(isExpired).forEach((id) => memory.remove(id));
    },
    removedOf: unused,
  };
}
