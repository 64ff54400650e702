/**
 * All stored forms, as data: the JSON schema of everything that is read back, and the layout of the stores. Their digest
 * is the fingerprint (`src/protocol/fingerprint.ts`). What no schema reads, such as tombstones and deltas, is known here
 * by its columns alone.
 */
import * as z from "zod";
import * as requestRates from "../../src/api/access/rate-limit.ts";
import { ATTRIBUTES } from "../../src/adapters/aws/table/attributes.ts";
import { TABLE } from "../../src/adapters/aws/table/schema.ts";
import { storedRow } from "../../src/adapters/local/store/row-text.ts";
import { STORE_SCHEMA } from "../../src/adapters/local/store/schema.ts";
import * as archives from "../../src/codec/archive.ts";
import { canonical, sha256 } from "../../src/codec/canonical.ts";
import { checksumOf } from "../../src/codec/checksum.ts";
import { sealedJournal } from "../../src/codec/journal.ts";
import { payloadSchema, rowSchema } from "../../src/codec/row.ts";
import { messageBody } from "../../src/codec/schema/event.ts";
import { messages } from "../../src/codec/schema/state.ts";
import * as sealed from "../../src/codec/sealed.ts";
import * as snapshots from "../../src/codec/snapshot.ts";
import type { Json } from "../../src/core/json.ts";
import * as tenantPlaces from "../../src/engine/loop/beat-in-place.ts";
import * as modelRates from "../../src/engine/model/model-rate.ts";
import * as callbacks from "../../src/features/waits/callbacks.ts";
import * as memoryEntries from "../../src/features/memory/entries.ts";
import * as memorySources from "../../src/features/memory/sources.ts";
import * as outbox from "../../src/features/webhooks/outbox.ts";
import * as spendCounters from "../../src/features/spend-caps/counters.ts";
import * as spendToday from "../../src/features/spend-caps/today.ts";
import * as langgraph from "../../src/langgraph/record.ts";
import * as audit from "../../src/operations/access/audit.ts";
import * as tokens from "../../src/operations/access/check-token.ts";
import * as restores from "../../src/operations/restored-store.ts";
import * as schedules from "../../src/features/schedules/schedule-memory.ts";
import { FINGERPRINT } from "../../src/protocol/fingerprint.ts";
import { row } from "../support/states/states-and-events.ts";

const SCHEMAS: Readonly<Record<string, z.ZodType>> = {
  ...{ row: rowSchema, payload: payloadSchema, message: messageBody },
  ...{ snapshot: snapshots.document, segment: messages, sealedEvents: sealed.document, journal: sealedJournal },
  ...{ archiveHead: archives.head, archiveLine: archives.line },
  ...{ webhook: outbox.outboxEntry, callback: callbacks.stored, source: memorySources.stored },
  ...{ memoryEntry: memoryEntries.stored, spendOfTenant: spendCounters.stored, spendToday: spendToday.stored },
  ...{ requestRate: requestRates.stored, modelRate: modelRates.usedUntil, token: tokens.body, audit: audit.body },
  ...{ lastFiring: schedules.lastFiring, pause: schedules.pause, restoredStore: restores.restoredStore },
  tenantPlaces: tenantPlaces.stored,
  ...{ langgraph: langgraph.envelope, ...langgraph.headers },
};

const schemaOf = (schema: z.ZodType): Json =>
  z.toJSONSchema(schema, { unrepresentable: "any", io: "input", reused: "inline" }) as Json;

/** How the stores lay out a row, besides its schema. */
const layout = (): Json => ({
  ...{ tables: STORE_SCHEMA, attributes: ATTRIBUTES, indexes: JSON.parse(JSON.stringify(TABLE)) as Json },
  names: Object.keys(JSON.parse(storedRow(row()).row) as object),
  checksum: checksumOf(row()).slice(FINGERPRINT.length),
});

/** The fingerprint of this code. */
export const fingerprint = (): string =>
  sha256(
    canonical({
      layout: layout(),
      ...Object.fromEntries(Object.entries(SCHEMAS).map(([name, schema]) => [name, schemaOf(schema)])),
    }),
  ).slice(0, FINGERPRINT.length);
