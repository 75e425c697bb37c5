import { z } from "zod";
import { errorCodeSchema } from "../deployments/deployment-event.ts";
import { MAX_MESSAGE_LENGTH } from "../limits.ts";
import { sanitizedLine, sanitizedText } from "../values/sanitized-text.ts";

/*
 * Streams between a client and an app: a forwarded connection, a command, or a copy of files. They are opened by a client
 * through the control plane, and their data are the binary messages of `stream-data.ts`. A sender sends no more data than
 * the receiver has given it credit for; the receiver gives more as its reader takes what has arrived.
 */

/** Credit that a receiver may give for one stream at a time, in bytes: what it has to keep if its reader takes nothing. */
export const MAX_STREAM_CREDIT = 256 * 1024;

/** Maximum number of streams of one session of a device, and of one client's connection. */
export const MAX_STREAMS_PER_CONNECTION = 64;

/** Maximum length of the app's name in `stream_open`. */
export const MAX_STREAM_APP_LENGTH = 512;

const MAX_PATH_LENGTH = 4096;
const MAX_ARGUMENT_LENGTH = 32_768;
const MAX_TERMINAL_SIZE = 10_000;

export const streamKindSchema = z.enum(["forward", "exec", "read", "write"]);
export type StreamKind = z.output<typeof streamKindSchema>;

const streamId = z
  .int()
  .min(0)
  .max(2 ** 32 - 1);
const credit = z.int().min(0).max(MAX_STREAM_CREDIT);
const terminalSize = z.int().min(1).max(MAX_TERMINAL_SIZE);

/** The kernel would end the text at a NUL character. */
function text(max: number) {
  return z
    .string()
    .max(max)
    .refine((value) => !value.includes("\0"), "must not contain NUL");
}

/** A path in the container. */
const path = text(MAX_PATH_LENGTH).startsWith("/", "must be an absolute path");

/** The parameters of each kind of stream. */
export const STREAM_PARAMS = {
  /** A TCP connection to a port of the app. */
  forward: z.object({ port: z.int().min(1).max(65_535) }),
  /** A command in the app's container. */
  exec: z.object({
    command: z.array(text(MAX_ARGUMENT_LENGTH)).min(1).max(256),
    tty: z.boolean().default(false),
    columns: terminalSize.exactOptional(),
    rows: terminalSize.exactOptional(),
    user: text(256).min(1).exactOptional(),
    working_dir: path.exactOptional(),
  }),
  /** A file or directory of the container, as a tar archive. */
  read: z.object({ path }),
  /** A tar archive that is unpacked in a directory of the container: the path, or its parent if it is no directory. */
  write: z.object({ path }),
} as const satisfies Record<StreamKind, z.ZodType>;

export type StreamParams<K extends StreamKind> = z.output<(typeof STREAM_PARAMS)[K]>;

const open = {
  type: z.literal("stream_open"),
  stream_id: streamId,
  kind: streamKindSchema,
  /** Validated by the schema of the kind. */
  params: z.unknown(),
  /** For data to the client. */
  credit,
};

/** Opens a stream. The device answers with `stream_opened`, or with `stream_close` and a code. */
export const streamOpen = z.object({
  ...open,
  app: z.string().max(MAX_STREAM_APP_LENGTH),
  /** Who opened it, for the device's log: the id of an API key. */
  by: sanitizedLine(128),
});

/** The stream is open: the app is connected, or the command runs. */
export const streamOpened = z.object({
  type: z.literal("stream_opened"),
  stream_id: streamId,
  /** For data to the app. */
  credit,
  /** For `write`: whether the path is a directory. */
  is_directory: z.boolean().exactOptional(),
});

/** The receiver's reader has taken data: the sender may send as many bytes more. */
export const streamCredit = z.object({ type: z.literal("stream_credit"), stream_id: streamId, bytes: credit.min(1) });

/** The stream is over, in both directions. Without a code it ended as it should. */
export const streamClose = z.object({
  type: z.literal("stream_close"),
  stream_id: streamId,
  code: errorCodeSchema.optional().catch("Internal"),
  message: sanitizedText(MAX_MESSAGE_LENGTH).exactOptional(),
  /** Exit code of the command of an `exec`. */
  exit_code: z.int().min(0).max(255).exactOptional(),
});

/** The client's terminal has another size. */
export const streamResize = z.object({
  type: z.literal("stream_resize"),
  stream_id: streamId,
  columns: terminalSize,
  rows: terminalSize,
});

/** What a client sends to the control plane besides data. The app is named by the address it connects to. */
export const clientStreamFrameSchema = z.discriminatedUnion("type", [
  z.object(open),
  streamCredit,
  streamClose,
  streamResize,
]);
export type ClientStreamFrame = z.output<typeof clientStreamFrameSchema>;

/** What a device sends to the control plane, and the control plane to a client. */
export const deviceStreamFrameSchema = z.discriminatedUnion("type", [streamOpened, streamCredit, streamClose]);
export type DeviceStreamFrame = z.output<typeof deviceStreamFrameSchema>;

/** What the control plane sends to a device. */
export type ControlStreamFrame =
  | z.output<typeof streamOpen>
  | z.output<typeof streamCredit>
  | z.output<typeof streamClose>
  | z.output<typeof streamResize>;

/** Why a stream ended. */
export type StreamEnd = Pick<z.output<typeof streamClose>, "code" | "message" | "exit_code">;
