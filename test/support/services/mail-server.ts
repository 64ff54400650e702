/** A mailbox behind SMTP, and one behind the API of Amazon SES. */
import { once } from "node:events";
import type { Socket } from "node:net";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { SESv2 } from "@aws-sdk/client-sesv2";
import { createTransport } from "nodemailer";
import { SMTPServer } from "smtp-server";
import { onTestFinished } from "vitest";
import { type ServedAnswer, json, lost, serve } from "./http-server.ts";

type MailFault = "none" | "answerLost" | "refused" | "recipientRefused";

/** A mail that arrived. */
export interface Mail {
  readonly tag: string;
  readonly messageId: string;
  readonly to: readonly string[];
  readonly subject: string;
}

interface Faulty {
  readonly fault?: (request: { readonly nth: number }) => MailFault;
}

const headerIn = (mail: string, name: string): string =>
  new RegExp(`^${name}: ?([^]*?)\\r?\\n(?! )`, "im").exec(mail)?.[1]?.replaceAll(/\r?\n /g, "") ?? "";

/** An SMTP server, with a transport of nodemailer to it. */
export async function startSmtp({ fault = () => "none" as const }: Faulty = {}) {
  const mails: Mail[] = [];
  const sockets = new Set<Socket>();
  let nth = 0;
  const accept = async (
    stream: Readable,
    recipients: readonly { readonly address: string }[],
  ): Promise<Error | null> => {
    const mail = await text(stream);
    const befalls = fault({ nth });
    if (befalls === "refused") return refusal(554);
    const [tag = "", messageId = "", subject = ""] = ["X-Cairn-Key", "Message-ID", "Subject"].map((name) =>
      headerIn(mail, name),
    );
    mails.push({ tag, messageId, subject, to: recipients.map(({ address }) => address) });
    if (befalls === "answerLost") for (const socket of sockets) socket.destroy();
    return null;
  };
  const refusal = (responseCode: number) => Object.assign(new Error("not here"), { responseCode });
  const server = new SMTPServer({
    ...{ authOptional: true, disabledCommands: ["STARTTLS"], logger: false },
    onRcptTo: (_address, _from, callback) => {
      nth += 1;
      callback(fault({ nth }) === "recipientRefused" ? refusal(550) : null);
    },
    onData: async (stream, { envelope }, callback) => callback(await accept(stream, envelope.rcptTo)),
  });
  server.on("error", () => undefined);
  server.server.on("connection", (socket: Socket) => sockets.add(socket));
  server.listen(0, "127.0.0.1");
  await once(server.server, "listening");
  const address = server.server.address();
  const port = typeof address === "object" ? (address?.port ?? 0) : 0;
  const transport = createTransport({ host: "127.0.0.1", port, secure: false });
  onTestFinished(() => {
    transport.close();
    server.close();
  });
  const reset = (): void => {
    mails.length = 0;
    nth = 0;
  };
  return { transport, port, mails, reset };
}

interface SentEmail {
  readonly Destination: { readonly ToAddresses: readonly string[] };
  readonly Content: {
    readonly Simple: {
      readonly Subject: Readonly<Record<"Data", string>>;
      readonly Headers: readonly { readonly Value: string }[];
    };
  };
  readonly EmailTags: readonly { readonly Name: string; readonly Value: string }[];
}

/** The API of SES, with a client. `maxAttempts`: how often the client sends a request by itself. */
export async function startSes({
  fault = () => "none" as const,
  maxAttempts = 1,
}: Faulty & { readonly maxAttempts?: number } = {}) {
  const mails: Mail[] = [];
  const emails: SentEmail[] = [];
  let nth = 0;
  const accept = (email: SentEmail): ServedAnswer => {
    const { Destination, Content, EmailTags } = email;
    const messageId = `ses-${mails.length + 1}`;
    emails.push(email);
    mails.push({
      ...{ messageId, tag: EmailTags[0]?.Value ?? "", to: Destination.ToAddresses },
      subject: Content.Simple.Subject.Data,
    });
    return json(200, { MessageId: messageId });
  };
  const url = await serve(({ body }) => {
    nth += 1;
    const befalls = fault({ nth });
    if (befalls === "refused") return json(400, { __type: "MessageRejected", message: "not verified" });
    return lost(accept(JSON.parse(String(body)) as SentEmail), befalls === "answerLost");
  });
  const client = new SESv2({
    ...{ endpoint: url, region: "eu-central-1", maxAttempts },
    credentials: { accessKeyId: "test", secretAccessKey: "test" },
  });
  onTestFinished(() => client.destroy());
  const reset = (): void => {
    mails.length = 0;
    emails.length = 0;
    nth = 0;
  };
  return { client, mails, emails, reset };
}
