/** How mail leaves: through a transport of nodemailer (SMTP), or through a client of Amazon SES. */
import { OutcomeUnknown } from "../sdk/outcome.ts";
import { AgentInvalid } from "../ports/agent-invalid.ts";
import { type AwsClientLike, awsFailure, requireSingleAttempt } from "./aws-errors.ts";
import { requireMethods } from "./settings.ts";

export interface MailMessage {
  readonly from: string;
  readonly to: string | readonly string[];
  readonly cc?: string | readonly string[];
  readonly bcc?: string | readonly string[];
  readonly replyTo?: string | readonly string[];
  readonly subject: string;
  readonly text?: string;
  readonly html?: string;
}

/** A message with what identifies it. */
export interface IdentifiedMail {
  readonly message: MailMessage;
  /** The value of `Message-ID`, with angle brackets. */
  readonly messageId: string;
  /** The name of the call for headers and tags: letters, digits and `-`. */
  readonly tag: string;
  readonly signal: AbortSignal;
}

/** What was sent. `id`: the name that the server gave the message, or its `Message-ID`. */
export interface SentMail {
  readonly id: string;
  readonly messageId: string;
  /** Recipients that the server refused; the others get the message. */
  readonly rejected: readonly string[];
}

/** Sends one message once. Rejects with `OutcomeUnknown` if it may have been sent. */
export interface MailSender {
  readonly send: (mail: IdentifiedMail) => Promise<SentMail>;
}

/** A transport of nodemailer, as far as it is used. */
export interface SmtpTransportLike {
  readonly options?: object;
  sendMail(mail: {
    from: string;
    to: string[];
    cc: string[];
    bcc: string[];
    replyTo: string[];
    subject: string;
    text?: string;
    html?: string;
    messageId: string;
    headers: { [name: string]: string };
    signal: AbortSignal;
  }): Promise<{ readonly messageId?: string; readonly rejected?: readonly unknown[] | undefined }>;
}

/**
 * Mail through SMTP.
 *
 * @example
 *   const sender = smtpSender(createTransport({ host: "smtp.example", port: 587 }));
 *
 * @throws AgentInvalid for a pool that sends a message again when its connection breaks
 */
export function smtpSender(transport: SmtpTransportLike): MailSender {
  requireMethods(transport, ["sendMail"], "give smtpSender what createTransport of nodemailer returns");
  const { pool, maxRequeues } = (transport.options ?? {}) as {
    readonly pool?: unknown;
    readonly maxRequeues?: unknown;
  };
  if (pool === true && maxRequeues !== 0) {
    throw new AgentInvalid(
      "this pool of nodemailer sends a message again when its connection breaks: create it with maxRequeues: 0",
    );
  }
  return {
    send: async ({ message, messageId, tag, signal }) => {
      const { from, to, cc, bcc, replyTo, ...content } = message;
      const headers = { "X-Cairn-Key": tag };
      const people = { to: listOf(to), cc: listOf(cc), bcc: listOf(bcc), replyTo: listOf(replyTo) };
      try {
        const sent = await transport.sendMail({ from, ...people, ...content, messageId, headers, signal });
        return { id: sent.messageId ?? messageId, messageId, rejected: (sent.rejected ?? []).map(String) };
      } catch (error) {
        throw wasRefused(error)
          ? error
          : new OutcomeUnknown("the message left, and its answer was lost", { cause: error });
      }
    },
  };
}

const listOf = (given: string | readonly string[] | undefined): string[] =>
  given === undefined ? [] : typeof given === "string" ? [given] : [...given];

/** Errors of nodemailer from before the message, or with the refusal of the server. */
const REFUSED =
  /^(EENVELOPE|EMAXRECIPIENTS|EAUTH|ENOAUTH|EOAUTH2|EDNS|ETLS|EREQUIRETLS|ECONFIG|EFILEACCESS|EURLACCESS)$/;

function wasRefused(error: unknown): boolean {
  const { code, syscall, responseCode } = error as {
    readonly code?: unknown;
    readonly syscall?: unknown;
    readonly responseCode?: unknown;
  };
  const isMessageRefused = code === "EMESSAGE" && typeof responseCode === "number";
  return REFUSED.test(String(code)) || syscall === "connect" || isMessageRefused;
}

type SesContent = Record<"Data" | "Charset", string>;

interface SesEmail {
  readonly FromEmailAddress: string;
  readonly Destination: { ToAddresses: string[]; CcAddresses: string[]; BccAddresses: string[] };
  readonly ReplyToAddresses: string[];
  readonly Content: {
    Simple: {
      Subject: SesContent;
      Body: { Text?: SesContent; Html?: SesContent };
      Headers: { Name: string; Value: string }[];
    };
  };
  readonly EmailTags: { Name: string; Value: string }[];
}

/** The client `SESv2` of `@aws-sdk/client-sesv2`. */
export interface SesLike extends AwsClientLike {
  sendEmail(
    input: SesEmail,
    options: { readonly abortSignal: AbortSignal },
  ): Promise<{ readonly MessageId?: string | undefined }>;
}

/**
 * Mail through Amazon SES. SES gives each message a `Message-ID` of its own, so the call is named by the header
 * `X-Cairn-Key` and by the tag `cairn-key`, which its event publishing reports.
 *
 * @example
 *   const sender = sesSender(new SESv2({ maxAttempts: 1 }));
 */
export function sesSender(client: SesLike): MailSender {
  const next = "write sesSender(new SESv2({ maxAttempts: 1 })) of @aws-sdk/client-sesv2";
  requireMethods(client, ["sendEmail"], next);
  return {
    send: async ({ message, tag, signal }) => {
      await requireSingleAttempt(client, "SES");
      try {
        const { MessageId = "" } = await client.sendEmail(emailOf(message, tag), { abortSignal: signal });
        return { id: MessageId, messageId: MessageId, rejected: [] };
      } catch (error) {
        throw awsFailure(error, "the message");
      }
    },
  };
}

function emailOf({ from, to, cc, bcc, replyTo, subject, text, html }: MailMessage, tag: string): SesEmail {
  const content = (words: string): SesContent => ({ Data: words, Charset: "UTF-8" });
  return {
    FromEmailAddress: from,
    Destination: { ToAddresses: listOf(to), CcAddresses: listOf(cc), BccAddresses: listOf(bcc) },
    ReplyToAddresses: listOf(replyTo),
    Content: {
      Simple: {
        Subject: content(subject),
        Body: {
          ...(text !== undefined && { Text: content(text) }),
          ...(html !== undefined && { Html: content(html) }),
        },
        Headers: [{ Name: "X-Cairn-Key", Value: tag }],
      },
    },
    EmailTags: [{ Name: "cairn-key", Value: tag }],
  };
}
