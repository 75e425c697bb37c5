import type { FastifyReply } from "fastify";
import { z } from "zod";
import { type DocumentedBody, type DocumentedResponse, type HeaderSchema, messages } from "../docs/responses.ts";
import { preferredType } from "../headers.ts";

const CSV = "text/csv";

type Cell = string | number | null | undefined;

/** Whether a client wants CSV: by the parameter `format`, else by the header `Accept`, JSON if that allows both. */
export function wantsCsv(format: "json" | "csv" | undefined, accept: string | undefined): boolean {
  if (format !== undefined) return format === "csv";
  return preferredType(accept, ["application/json", CSV]) === CSV;
}

/** The table as RFC 4180 has it, under a row with the names of the columns. */
export function toCsv(columns: readonly string[], rows: readonly (readonly Cell[])[]): string {
  return [columns, ...rows].map((row) => `${row.map(toCell).join(",")}\r\n`).join("");
}

/** The time as spreadsheets read it. @param seconds Unix seconds */
export function csvTime(seconds: number | null): string {
  return seconds === null ? "" : `${new Date(seconds * 1000).toISOString().slice(0, 19)}Z`;
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

function toCell(value: Cell): string {
  if (typeof value === "number") return String(value);
  if (value === null || value === undefined) return "";
  // A spreadsheet takes a text that begins like this for a formula.
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
