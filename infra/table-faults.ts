/**
 * Compares a table that a user brings with the layout that cairn needs. A table with other keys or without its stream
 * would be deployed to, and then fail at the first run or keep the objects of removed runs for ever.
 */
import { TABLE } from "../src/adapters/aws/table/schema.ts";

/** The table, in the terms of the provider of AWS. */
export interface FoundTable {
  readonly hashKey: string;
  readonly rangeKey: string;
  readonly attributes: readonly { readonly name: string; readonly type: string }[];
  readonly globalSecondaryIndexes: readonly {
    readonly name: string;
    readonly hashKey: string;
    readonly rangeKey: string;
    readonly projectionType: string;
    readonly nonKeyAttributes: readonly string[];
  }[];
  readonly streamEnabled: boolean;
  readonly streamViewType: string;
  readonly ttl: { readonly enabled: boolean; readonly attributeName: string };
}

/** What the table lacks, one line each; none if it fits. */
export function tableFaults(found: FoundTable): readonly string[] {
  const { keys, timeToLive, stream } = TABLE;
  const types = new Map(found.attributes.map(({ name, type }) => [name, type]));
  const isKeyed = found.hashKey === keys.partition && found.rangeKey === keys.sort;
  const isOfTexts = types.get(keys.partition) === "S" && types.get(keys.sort) === "S";
  const isExpiring = found.ttl.enabled && found.ttl.attributeName === timeToLive;
  const isStreaming = found.streamEnabled && [stream.view, "NEW_AND_OLD_IMAGES"].includes(found.streamViewType);
  return [
    ...(isKeyed && isOfTexts ? [] : [`its keys must be ${keys.partition} (partition) and ${keys.sort} (sort), both S`]),
    ...TABLE.indexes.flatMap((wanted) => indexFaults(wanted, found, types)),
    ...(isExpiring ? [] : [`its time to live must be on, with the attribute ${timeToLive}`]),
    ...(isStreaming ? [] : [`its stream must be on, with the view ${stream.view}`]),
  ];
}

function indexFaults(
  { name, partition, sort, projected }: (typeof TABLE.indexes)[number],
  { globalSecondaryIndexes }: FoundTable,
  types: ReadonlyMap<string, string>,
): readonly string[] {
  const found = globalSecondaryIndexes.find((each) => each.name === name);
  const isFit =
    found?.hashKey === partition.name &&
    found.rangeKey === sort.name &&
    types.get(partition.name) === partition.type &&
    types.get(sort.name) === sort.type &&
    (found.projectionType === "ALL" || projected.every((each) => found.nonKeyAttributes.includes(each)));
  if (isFit) return [];
  const own = projected.length === 0 ? "its keys only" : projected.join(", ");
  return [
    `its index ${name} must have the keys ${partition.name} (${partition.type}) and ${sort.name} (${sort.type}), and project ${own}`,
  ];
}
