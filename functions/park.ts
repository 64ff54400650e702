/** The function of the state Park: stores the token on which an execution waits. Only that token ends the state. */
import { stepFunctionsChain } from "../src/adapters/aws/machine/chain.ts";
import { machineClient, tableClients } from "../src/adapters/aws/clients.ts";
import { systemClock as clock } from "../src/adapters/aws/clock.ts";
import { Dynamo } from "../src/adapters/aws/table/dynamo.ts";
import { dynamoRunTable } from "../src/adapters/aws/table/run-table.ts";
import type { Task } from "../src/protocol/chain.ts";
import { park } from "../src/engine/loop/park.ts";
import { machineArn, tableName } from "./settings.ts";

const table = tableName();
const world = {
  table: dynamoRunTable({ dynamo: new Dynamo({ clients: tableClients(), table, clock }), table }),
  chain: stepFunctionsChain({ client: machineClient(), machine: machineArn() }),
  clock,
};

export async function handler(task: Extract<Task, { readonly kind: "park" }>): Promise<void> {
  await park(world, task);
}
