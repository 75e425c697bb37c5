import { z } from "zod";
import { MAX_UPLOADED_FILES_BYTES } from "../limits.ts";

/*
 * Contents of apps' files that are too large for a request. They are uploaded to the service by their hash, compressed with gzip,
 * and devices fetch them from there.
 */

/** Maximum size of an upload, which is compressed: half of what an account may have, so that there is room for the next version. */
export const MAX_UPLOAD_BYTES = 256 * 1024 * 1024;

/** Size of the pieces that an upload is sent in; the last one may be shorter. */
export const UPLOAD_PIECE_BYTES = 128 * 1024;

export const uploadHashSchema = z
  .string()
  .regex(/^[0-9a-f]{64}$/, "must be a SHA-256, in hex")
  .meta({
    description: "SHA-256 of the upload as it is sent, compressed, in hex.",
    examples: ["ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"],
  });

const uploadBytes = z.int().min(1).max(MAX_UPLOAD_BYTES);

/** Where a device gets a content that it does not have. */
export const fileUploadSchema = z
  .strictObject({
    sha256: uploadHashSchema,
    bytes: uploadBytes.meta({ description: "Size of the upload in bytes: what the device downloads." }),
    size: z.int().min(0).max(MAX_UPLOADED_FILES_BYTES).meta({ description: "Size of the content in bytes, unpacked." }),
  })
  .meta({ id: "FileUpload" });
export type FileUpload = z.output<typeof fileUploadSchema>;

/** Says that one content is named with two uploads, of which a device could fetch and count only one. */
export const OTHER_UPLOAD = "is not the one that another file with the same `sha256` has";

export function isSameUpload(one: FileUpload, other: FileUpload): boolean {
  return one.sha256 === other.sha256 && one.bytes === other.bytes && one.size === other.size;
}

/** One piece of an upload, as a request has it. */
export const uploadPieceSchema = z
  .strictObject({
    bytes: uploadBytes.meta({ description: "Size of the whole upload in bytes." }),
    content_base64: z
      .base64("must be base64")
      .min(4)
      .max(Math.ceil(UPLOAD_PIECE_BYTES / 3) * 4)
      .meta({
        description: `The piece: ${UPLOAD_PIECE_BYTES} bytes, the last one what is left.`,
        examples: ["H4sIAAAA"],
      }),
  })
  .meta({ id: "UploadPiece", examples: [{ bytes: 3, content_base64: "YWJj" }] });

export const uploadSchema = z
  .object({
    sha256: uploadHashSchema,
    bytes: uploadBytes.meta({ description: "Size in bytes." }),
    received_bytes: z.int().meta({ description: "Bytes that the service has of it." }),
    complete: z.boolean().meta({ description: "Whether all of it is there, and has its hash: devices can fetch it." }),
    used_at: z.int().meta({
      description:
        "When it was uploaded, or last named by a request, in Unix seconds. One that nothing needs is removed a day later.",
    }),
  })
  .meta({ id: "Upload" });
export type UploadBody = z.output<typeof uploadSchema>;

export const uploadListSchema = z
  .object({ uploads: z.array(uploadSchema).meta({ description: "All of them: they are few." }) })
  .meta({ id: "UploadList" });
export type UploadList = z.output<typeof uploadListSchema>;
