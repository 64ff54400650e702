/** Takes the write lock of a store, says so, and keeps it until it is killed: a client that is frozen in its commit. */
import { setInterval } from "node:timers";
import { openStore } from "../../../src/adapters/local/store/database.ts";

const store = openStore({ dir: process.argv[2] ?? "", create: false });
store.rows.exec("BEGIN IMMEDIATE");
process.send?.("holds");
setInterval(() => {}, 1_000);
