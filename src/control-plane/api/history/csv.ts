import type { FastifyReply } from "fastify";
import { z } from "zod";
import { type DocumentedBody, type DocumentedResponse, type HeaderSchema, messages } from "../docs/responses.ts";
import { preferredType } from "../headers.ts";

const CSV = "text/csv";

/** Whether a client wants CSV: by the parameter `format`, else by the header `Accept`, JSON if that allows both. */
export function wantsCsv(format: "json" | "csv" | undefined, accept: string | undefined): boolean {
  if (format !== undefined) return format === "csv";
  return preferredType(accept, ["application/json", CSV]) === CSV;
}

export function sendCsv(reply: FastifyReply, table: string): FastifyReply {
  return reply.type(`${CSV}; charset=utf-8`).send(table);
}

/** A successful response with a JSON body, or the same as a table. */
export function jsonOrCsv<T extends z.ZodType>(
  description: string,
  schema: T,
  example: string,
  headers?: Readonly<Record<string, HeaderSchema>>,
): DocumentedResponse<T | z.ZodString> {
  const body: DocumentedBody<T> = { schema };
  const content = { "application/json": body, [CSV]: messages(z.string(), [example]) };
  return { description, content, ...(headers && { headers }) };
}
