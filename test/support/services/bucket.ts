/** An S3 bucket behind HTTP: conditional puts and deletes, checksums, metadata and HEAD. */
import { createHash } from "node:crypto";
import { S3 } from "@aws-sdk/client-s3";
import { onTestFinished } from "vitest";
import type { FakeService } from "../../../src/testing/kit/index.ts";
import { type ServedAnswer, type ServedRequest, lost, serve } from "./http-server.ts";
import { type MadeEffect, serviceView } from "./service-view.ts";

type BucketFault = "none" | "answerLost" | "unavailable" | "denied";

interface Stored {
  readonly body: string;
  readonly etag: string;
  readonly version: string;
  readonly metadata: Readonly<Record<string, string>>;
}

export interface Bucket {
  readonly client: S3;
  readonly service: FakeService<unknown>;
  /** All requests since the last reset, as `METHOD /bucket/key`. */
  readonly requests: readonly string[];
  /** The objects by their names. */
  readonly objects: ReadonlyMap<string, Stored>;
  /** Another writer puts an object, without cairn. */
  readonly put: (name: string, body: string) => void;
}

const refused = (status: number, code: string): ServedAnswer => ({
  status,
  headers: { "content-type": "application/xml" },
  body: `<?xml version="1.0"?><Error><Code>${code}</Code><Message>${code}</Message></Error>`,
});

const metadataIn = ({ headers }: ServedRequest): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]): [string, string][] =>
      name.startsWith("x-amz-meta-") ? [[name.slice("x-amz-meta-".length), String(value)]] : [],
    ),
  );

/** The objects of the bucket, and how requests change them. */
class Objects {
  readonly byName = new Map<string, Stored>();
  readonly writes: MadeEffect[] = [];
  #versions = 0;

  store(name: string, body: string, metadata: Readonly<Record<string, string>>): Stored {
    this.#versions += 1;
    const etag = `"${createHash("md5").update(body).digest("hex")}"`;
    const stored = { body, etag, version: `v${this.#versions}`, metadata };
    this.byName.set(name, stored);
    return stored;
  }

  answer(name: string, request: ServedRequest): ServedAnswer {
    if (request.method === "HEAD") return this.#head(name);
    const found = this.byName.get(name);
    const { "if-match": match, "if-none-match": noneMatch } = request.headers;
    const isMet = (match === undefined || match === found?.etag) && (noneMatch === undefined || found === undefined);
    if (!isMet) return refused(412, "PreconditionFailed");
    return request.method === "DELETE" ? this.#remove(name) : this.#put(name, request);
  }

  reset(): void {
    this.byName.clear();
    this.writes.length = 0;
    this.#versions = 0;
  }

  #head(name: string): ServedAnswer {
    const found = this.byName.get(name);
    if (found === undefined) return { status: 404 };
    const { etag, version, metadata } = found;
    const named = Object.entries(metadata).map(([each, value]) => [`x-amz-meta-${each}`, value]);
    return { status: 200, headers: { etag, "x-amz-version-id": version, ...Object.fromEntries(named) } };
  }

  #put(name: string, request: ServedRequest): ServedAnswer {
    const { headers, body } = request;
    const checksum = createHash("sha256").update(body).digest("base64");
    if (headers["x-amz-checksum-sha256"] !== checksum) return refused(400, "BadDigest");
    const { etag, version, metadata } = this.store(name, String(body), metadataIn(request));
    const input = { name, body: String(body) };
    this.writes.push({ key: metadata["cairn-key"] ?? "", input, result: null, undone: false });
    return { status: 200, headers: { etag, "x-amz-version-id": version } };
  }

  #remove(name: string): ServedAnswer {
    const key = this.byName.get(name)?.metadata["cairn-key"];
    this.byName.delete(name);
    const index = this.writes.findIndex((write) => write.key === key);
    const write = this.writes[index];
    if (write !== undefined) this.writes[index] = { ...write, undone: true };
    return { status: 204 };
  }
}

/** `maxAttempts`: how often the client sends a request by itself. */
export async function startBucket(
  of: {
    readonly fault?: (request: { readonly method: string; readonly nth: number }) => BucketFault;
    readonly maxAttempts?: number;
  } = {},
): Promise<Bucket> {
  const { fault = () => "none" as const, maxAttempts = 1 } = of;
  const objects = new Objects();
  const requests: string[] = [];
  const url = await serve((request) => {
    const { method, url } = request;
    requests.push(`${method} ${url.pathname}`);
    const befalls = fault({ method, nth: requests.length });
    if (befalls === "unavailable") return refused(503, "SlowDown");
    if (befalls === "denied") return refused(403, "AccessDenied");
    const name = url.pathname.split("/").slice(2).join("/");
    return lost(objects.answer(name, request), befalls === "answerLost");
  });
  const client = new S3({
    ...{ endpoint: url, forcePathStyle: true, region: "eu-central-1", maxAttempts },
    credentials: { accessKeyId: "test", secretAccessKey: "test" },
  });
  onTestFinished(() => client.destroy());
  const reset = (): void => {
    objects.reset();
    requests.length = 0;
  };
  const service = serviceView({ name: "bucket", effects: () => objects.writes, reset });
  const put = (name: string, body: string): void => void objects.store(name, body, {});
  return { client, service, requests, objects: objects.byName, put };
}
