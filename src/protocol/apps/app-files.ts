import { z } from "zod";
import { absolutePath } from "./app-fields.ts";
import { MAX_APP_FILES, MAX_APP_FILES_BYTES, MAX_APPLY_BYTES, MAX_UPLOADED_FILES_BYTES } from "../limits.ts";
import { normalizePath } from "../values/normalize-path.ts";
import type { RequestIssue } from "../errors/request-error.ts";
import { type FileUpload, fileUploadSchema, isSameUpload, OTHER_UPLOAD } from "./uploads.ts";
import { utf8ByteLength } from "../values/utf8-byte-length.ts";

/*
 * Files that come with an app. A request has their contents. The device keeps those apart: everywhere else a file is
 * described by `StoredFile`, without its content.
 */

/** The engine writes these into each container itself, or they are the kernel's. */
const ENGINE_FILES: ReadonlySet<string> = new Set(["/etc/hosts", "/etc/hostname", "/etc/resolv.conf"]);
const KERNEL_DIRECTORIES = ["/proc", "/sys", "/dev"];

const MAX_ID = 4_294_967_294;

const target = absolutePath
  .refine((path) => normalizePath(path) !== "/", "must not be the container's root")
  .refine((path) => !path.endsWith("/"), "must be the path of a file, without a slash at the end")
  .refine((path) => !isEnginePath(normalizePath(path)), "must not be a file that the engine or the kernel provides")
  .meta({ description: "Path in the container.", examples: ["/mosquitto/config/mosquitto.conf"] });

const mode = z
  .string()
  .regex(/^0?[0-7]{3}$/, "must be three octal digits, such as 0444")
  .meta({
    description: "Permissions in the container, octal; `0444` by default, for a secret `0400`.",
    examples: ["0440"],
  });

const owner = z
  .string()
  .regex(/^\d{1,10}(?::\d{1,10})?$/, "must be UID or UID:GID, by number")
  .refine((text) => text.split(":").every((id) => Number(id) <= MAX_ID), `must not exceed ${MAX_ID}`)
  .meta({
    description:
      "Numeric owner in the container, `UID` or `UID:GID`; the group is the user's number by default. Without it a secret " +
      "belongs to the user that the image runs as, and any other file to the user of the agent.",
    examples: ["1883:1883"],
  });

const secret = z.boolean().meta({
  description: "Whether it is a secret: its lines are masked in the app's log, and nothing tells its hash.",
});

const directory = z.boolean().meta({
  description:
    "Whether the target is a directory, whose files the content has: as a tar archive (ustar) of plain files and folders with their " +
    "permissions. It is mounted as a whole, and hides what the image has there.",
});

const content = z
  .string()
  .max(MAX_APPLY_BYTES)
  .meta({ description: "Content as text, stored as UTF-8; may be empty.", examples: ["listener 1883\n"] });

const contentBase64 = z
  .base64("must be base64")
  .max(MAX_APPLY_BYTES)
  .meta({ description: "Content as base64, in place of `content`: for what is not text.", examples: ["AAECAw=="] });

/** The first bytes of gzip as base64. */
const GZIP_MARK = "H4sI";

const contentGzip = z
  .base64("must be base64")
  .max(MAX_APPLY_BYTES)
  .refine((text) => text.startsWith(GZIP_MARK), "must be gzip as base64")
  .meta({
    description: "Content as base64 of gzip, in place of `content`: for what is large, and for links with a price.",
    examples: ["H4sIAAAAAAAAA0sEAEO+t+gBAAAA"],
  });

const knownHash = z
  .string()
  .regex(/^[0-9a-f]{64}$/, "must be the SHA-256 of the content, in hex")
  .meta({
    description:
      "SHA-256 of the content, hex, in place of it: the file keeps the content that it has on the device, which must be this one, or gets " +
      "that of `upload`. Not of a secret, whose hash the device does not tell.",
    examples: ["ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"],
  });

const upload = fileUploadSchema.meta({
  description:
    "Where the device gets the content if it does not have the one of `sha256`, which must be given too: an upload of the account, by " +
    "`PUT /v1/uploads/{sha256}/pieces/{number}`, compressed with gzip. The same one for all files with this `sha256`. Not of a secret.",
});

/** A file as a request has it. */
export const appFileSchema = z
  .strictObject({
    target,
    content: content.exactOptional(),
    content_base64: contentBase64.exactOptional(),
    content_gzip: contentGzip.exactOptional(),
    sha256: knownHash.exactOptional(),
    upload: upload.exactOptional(),
    mode: mode.exactOptional(),
    owner: owner.exactOptional(),
    secret: secret.exactOptional(),
    directory: directory.exactOptional(),
  })
  .meta({ id: "AppFile" });
export type AppFile = z.output<typeof appFileSchema>;

const DESCRIPTION =
  "Files that come with the app and are read-only in its container. They are placed before the app starts, replaced by an " +
  "update, and put back by a rollback. Their size is bounded by that of the request, and where it is compressed by the " +
  "device's `policy.max_files_bytes`.";

/** Files of a new app: each has a content. */
export const appFiles = filesOf(true).meta({ description: DESCRIPTION });

/** Files in an update. Without a content, a file keeps the one it has on the device. */
export const appFileUpdates = filesOf(false).meta({
  description: `${DESCRIPTION} A file without \`content\` keeps the content that it has on the device.`,
});

function filesOf(mustHaveContent: boolean) {
  return z
    .array(appFileSchema)
    .max(MAX_APP_FILES)
    .superRefine((files, context) => {
      const issues = [
        ...findContentIssues(files, mustHaveContent),
        ...findTargetIssues(files),
        ...findDirectoryIssues(files),
      ];
      for (const { path, reason } of issues) context.addIssue({ code: "custom", path: [...path], message: reason });
    });
}

/** A file as the device keeps and reports it. Its content is stored apart, under its hash or the id of the secret. */
export const storedFileSchema = z.strictObject({
  target: absolutePath,
  size: z.int().min(0).max(MAX_UPLOADED_FILES_BYTES),
  /** Hash of the content, hex; absent for a secret, since a short one could be guessed by it. */
  sha256: z.string().max(64).exactOptional(),
  /** Random id of a secret content, which stays while the content does; absent in reports. */
  secret_id: z.string().max(64).exactOptional(),
  /** Four octal digits. */
  mode: z.string().max(4),
  /** `UID:GID`. Absent: a secret belongs to the app's user, any other file to the agent's. */
  owner: z.string().max(32).exactOptional(),
  secret: z.boolean().exactOptional(),
  /** Whether the content is the archive of a directory. */
  directory: z.boolean().exactOptional(),
});
export type StoredFile = z.output<typeof storedFileSchema>;

export const storedFiles = z.array(storedFileSchema).max(MAX_APP_FILES);

/** The fields of a file in a request that have its content. */
export const CONTENT_FIELDS = ["content", "content_base64", "content_gzip"] as const;

/** Returns the bytes of a file's content in a request, as far as it says; `undefined` without a content. */
export function contentBytes({ content, content_base64, content_gzip, upload }: Partial<AppFile>): number | undefined {
  if (upload !== undefined) return upload.size;
  if (content !== undefined) return utf8ByteLength(content);
  if (content_gzip !== undefined) return unpackedSize(content_gzip);
  if (content_base64 === undefined) return undefined;
  const padding = /=*$/.exec(content_base64)?.[0].length ?? 0;
  return (content_base64.length / 4) * 3 - padding;
}

const BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** Gzip ends with the size of what was packed, in four bytes, the lowest first. */
function unpackedSize(base64: string): number {
  const bits = Array.from(base64.slice(-12).replace(/=+$/, ""), (letter) => {
    return Math.max(0, BASE64.indexOf(letter)).toString(2).padStart(6, "0");
  }).join("");
  const bytes = (bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2));
  return bytes.slice(-4).reduceRight((size, byte) => size * 256 + byte, 0);
}

interface Issue {
  readonly path: readonly (string | number)[];
  readonly reason: string;
}

function findContentIssues(files: readonly AppFile[], mustHaveContent: boolean): Issue[] {
  const uploads = new Map<string, FileUpload>();
  const issues: Issue[] = files.flatMap((file, index) => {
    const [first, second] = [...CONTENT_FIELDS, "sha256" as const].filter((field) => file[field] !== undefined);
    if (second !== undefined)
      return [{ path: [index, second], reason: `must not be given together with \`${first}\`` }];
    if (first === "sha256" && file.secret === true)
      return [{ path: [index, "sha256"], reason: "cannot be given of a secret; leave it out to keep the content" }];
    if (file.upload !== undefined) {
      const path = [index, "upload"];
      if (file.sha256 === undefined) return [{ path, reason: "needs the `sha256` of the content, and no content" }];
      const known = uploads.get(file.sha256) ?? file.upload;
      uploads.set(file.sha256, known);
      return isSameUpload(known, file.upload) ? [] : [{ path, reason: OTHER_UPLOAD }];
    }
    if (!mustHaveContent || (first !== undefined && first !== "sha256")) return [];
    return [{ path: [index, "content"], reason: "is missing; give `content`, `content_base64` or `content_gzip`" }];
  });
  const total = totalOf(files);
  // The device gives the engine what has an owner as a whole.
  const whole = totalOf(files.filter(({ upload, owner }) => upload === undefined || owner !== undefined));
  if (whole > MAX_APP_FILES_BYTES) return [...issues, { path: [], reason: tooLarge(whole, MAX_APP_FILES_BYTES) }];
  if (total <= MAX_UPLOADED_FILES_BYTES) return issues;
  return [...issues, { path: [], reason: tooLarge(total, MAX_UPLOADED_FILES_BYTES) }];
}

function totalOf(files: readonly AppFile[]): number {
  return files.reduce((sum, file) => sum + (contentBytes(file) ?? 0), 0);
}

/** Says that the files of one app have too many bytes. */
function tooLarge(bytes: number, max: number): string {
  const which = max === MAX_APP_FILES_BYTES ? "the files that are no uploads, or have an owner," : "the files";
  return `${which} have ${bytes} bytes in all, and at most ${max} are allowed; mount a volume instead`;
}

function findTargetIssues(files: readonly AppFile[]): Issue[] {
  const targets = files.map(({ target }) => normalizePath(target));
  return targets.flatMap((path, index) => {
    const path_ = [index, "target"];
    if (targets.indexOf(path) !== index) return [{ path: path_, reason: "the target appears twice" }];
    const outer = targets.find((other) => path.startsWith(`${other}/`));
    return outer === undefined ? [] : [{ path: path_, reason: `is inside of ${outer}, which comes with the app too` }];
  });
}

const FOR_FILES_ONLY = ["mode", "owner", "secret"] as const;

function findDirectoryIssues(files: readonly AppFile[]): Issue[] {
  return files.flatMap((file, index) => {
    if (file.directory !== true) return [];
    const fields = FOR_FILES_ONLY.filter((field) => file[field] !== undefined);
    const issues: Issue[] = fields.map((field) => {
      return {
        path: [index, field],
        reason: "cannot be given of a directory, whose archive has the modes of its files",
      };
    });
    const at = normalizePath(file.target);
    const inner = [...ENGINE_FILES, ...KERNEL_DIRECTORIES].find((path) => path.startsWith(`${at}/`));
    if (inner !== undefined)
      issues.push({ path: [index, "target"], reason: `must not be a directory with ${inner} in it` });
    return issues;
  });
}

function isEnginePath(path: string): boolean {
  return ENGINE_FILES.has(path) || KERNEL_DIRECTORIES.some((at) => path === at || path.startsWith(`${at}/`));
}

interface Mounted {
  readonly target: string;
}

/** Whether an app may have a directory of files at the target, beside what is mounted at other ones. */
export function isDirectoryTarget(target: string, others: readonly string[]): boolean {
  const at = `${normalizePath(target)}/`;
  const inner = [...others.map(normalizePath), ...ENGINE_FILES, ...KERNEL_DIRECTORIES];
  return !isEnginePath(normalizePath(target)) && !inner.some((path) => path.startsWith(at));
}

/**
 * Returns the files that a mount of the app would hide, or that would lie inside of a device file. One inside of a volume is
 * mounted there by the engine, which leaves an empty file in the volume. Links that an app made there lead it elsewhere in the
 * app's own container at most.
 */
export function findFileConflicts(
  files: readonly (Mounted & { readonly directory?: boolean })[] = [],
  mounts: readonly (Mounted & { readonly field: string })[],
): RequestIssue[] {
  return files.flatMap((file, index) => {
    const at = normalizePath(file.target);
    const isDirectory = file.directory === true;
    const conflicts = mounts.flatMap(
      ({ target, field }) => conflict(at, normalizePath(target), field, isDirectory) ?? [],
    );
    return conflicts.slice(0, 1).map((reason) => ({ path: `files[${index}].target`, reason }));
  });
}

/** Says what is wrong with a file's target, and what to use instead. */
function conflict(target: string, mounted: string, field: string, isDirectory: boolean): string | undefined {
  const what = `${mounted} of \`${field}\``;
  if (target === mounted) return `is the target of \`${field}\` too; leave one of the two out`;
  if (isDirectory && mounted.startsWith(`${target}/`))
    return `contains ${what}, which cannot be mounted inside of a directory that comes with the app; give its files one by one`;
  if (mounted.startsWith(`${target}/`))
    return `contains ${what}, so it would have to be a directory; use another target`;
  if (field === "devices" && target.startsWith(`${mounted}/`))
    return `is inside of ${what}; use a target outside of it`;
  return undefined;
}
