/** Every world of this checkout keeps the contracts of the ports, case by case. */
import { describe, test } from "vitest";
import {
  chainCases,
  deltaCases,
  memoryCases,
  objectStoreCases,
  recordCases,
  runTableCases,
} from "cairn-run/conformance";
import { local, memory } from "./worlds.ts";

describe.each([
  { name: "memory", worlds: memory },
  { name: "local", worlds: local },
])("$name", ({ worlds }) => {
  test.each(runTableCases)("RunTable: $name", ({ run }) => run(worlds.table()));
  test.each(objectStoreCases)("ObjectStore: $name", ({ run }) => run(worlds.objects()));
  test.each(recordCases)("Records: $name", ({ run }) => run(worlds.records()));
  test.each(memoryCases)("Memory: $name", ({ run }) => run(worlds.memories()));
  test.each(deltaCases)("DeltaLog: $name", ({ run }) => run(worlds.deltas()));
  test.each(chainCases)("Chain: $name", ({ run }) => run(worlds.chain()));
});
