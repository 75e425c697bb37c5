import pg from "pg";

const { INT8 } = pg.types.builtins;

/** Reads 64-bit integers as numbers, like the rest of the program. Other types: as the library reads them. */
export const valueTypes: pg.CustomTypesConfig = {
  getTypeParser: ((type: Parameters<typeof pg.types.getTypeParser>[0], format?: "text") =>
    type === INT8 ? toNumber : (pg.types.getTypeParser(type, format) as unknown)) as typeof pg.types.getTypeParser,
};

function toNumber(text: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number)) throw new RangeError(`the database returned ${text}, which is no safe integer`);
  return number;
}
