import { z } from "zod";
import {
  MAX_UPLOAD_BYTES,
  UPLOAD_PIECE_BYTES,
  type UploadBody,
  uploadHashSchema,
  type UploadList,
  uploadListSchema,
  uploadPieceSchema,
  uploadSchema,
} from "../../../protocol/apps/uploads.ts";
import { integerString } from "../../../protocol/values/scalars.ts";
import type { Upload } from "../../store/uploads.ts";
import { accountOf } from "../auth.ts";
import type { Api, ApiBase, ApiContext } from "../context.ts";
import { errors, errorsWithBody, json } from "../docs/responses.ts";
import { auditOf } from "../audit/audit-of.ts";

const pieceParams = z.object({
  sha256: uploadHashSchema,
  number: integerString(0, Math.ceil(MAX_UPLOAD_BYTES / UPLOAD_PIECE_BYTES) - 1).meta({
    description: "Number of the piece, from 0.",
  }),
});

/** `GET /v1/uploads`: the contents of files that the account has uploaded. */
export function listUploads(api: Api, { store }: ApiBase): void {
  api.get(
    "/v1/uploads",
    {
      schema: {
        operationId: "listUploads",
        summary: "List Uploads",
        description: "The contents of apps' files that the account has uploaded for its devices, the last used first.",
        tags: ["Apps"],
        response: { 200: json("The uploads.", uploadListSchema), ...errors() },
      },
    },
    async (request): Promise<UploadList> => {
      return { uploads: (await store.uploads.listUploads(accountOf(request))).map(toBody) };
    },
  );
}

/** `PUT /v1/uploads/{sha256}/pieces/{number}`: sends a piece of an upload. */
export function putUploadPiece(api: Api, { uploads, clock }: ApiContext<"uploads">): void {
  api.put(
    "/v1/uploads/:sha256/pieces/:number",
    {
      schema: {
        operationId: "putUploadPiece",
        summary: "Upload Piece of Content",
        description:
          "Sends a piece of a file's content that is too large for a request, compressed with gzip. When all pieces are there, in any " +
          "order, and have the SHA-256 of the path together, the upload is complete, and a file of an app may name it in `upload`: devices fetch " +
          "it if they do not have the content. A piece that is there already stays as it is.",
        tags: ["Apps"],
        params: pieceParams,
        body: uploadPieceSchema,
        response: { 200: json("The upload.", uploadSchema), ...errorsWithBody("QuotaExceeded") },
      },
    },
    async (request): Promise<UploadBody> => {
      const { sha256, number } = request.params;
      const { bytes, content_base64 } = request.body;
      const subject = { kind: "upload", id: sha256 };
      const audit = auditOf(request, clock, { action: "upload.added", subject, details: { bytes } });
      const content = Buffer.from(content_base64, "base64");
      return toBody(
        await uploads.addPiece({ accountId: accountOf(request), sha256 }, { number, bytes, content }, audit),
      );
    },
  );
}

function toBody({ sha256, bytes, receivedBytes, isComplete, usedAt }: Upload): UploadBody {
  return { sha256, bytes, received_bytes: receivedBytes, complete: isComplete, used_at: usedAt };
}
