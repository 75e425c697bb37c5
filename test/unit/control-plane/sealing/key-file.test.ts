import { chmod, mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  createKeyFile,
  KeyFileError,
  newKey,
  readKeyFile,
  writeKeyFile,
} from "../../../../src/control-plane/sealing/key-file.ts";
import { tempDir } from "../../../support/temp-dir.ts";

const LINE = `key_${"0a".repeat(12)} ${"1b".repeat(32)}\n`;

let directory: Awaited<ReturnType<typeof tempDir>>;
let path: string;
beforeEach(async () => {
  directory = await tempDir();
  path = join(directory.path, "secrets.key");
});
afterEach(() => directory[Symbol.asyncDispose]());

test("a created file is private, whole and read again", async () => {
  expect(readKeyFile(path)).toBeUndefined();
  const keys = await createKeyFile(path);
  expect(keys).toHaveLength(1);
  expect(keys[0].bytes).toHaveLength(32);
  expect(readKeyFile(path)).toEqual(keys);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect(await readdir(directory.path)).toEqual(["secrets.key"]);
});

test("of several that create it at a time, all have the key of one", async () => {
  const created = await Promise.all(Array.from({ length: 8 }, () => createKeyFile(path)));
  expect(new Set(created.map(([key]) => key.id)).size).toBe(1);
  expect(await readdir(directory.path)).toEqual(["secrets.key"]);
});

test("a file is replaced whole, private and with its keys in their order", async () => {
  const [first] = await createKeyFile(path);
  const keys = [first, newKey()];
  writeKeyFile(path, keys);
  expect(readKeyFile(path)).toEqual(keys);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect(await readdir(directory.path)).toEqual(["secrets.key"]);
});

test("a file that is there is never replaced", async () => {
  await writeFile(path, LINE, { mode: 0o600 });
  const [key] = await createKeyFile(path);
  expect(key.id).toBe(`key_${"0a".repeat(12)}`);
  expect(await readFile(path, "utf8")).toBe(LINE);
});

test.each([0o640, 0o604, 0o660])("a file with the permissions %o is refused", async (mode) => {
  await writeFile(path, LINE);
  await chmod(path, mode);
  expect(() => readKeyFile(path)).toThrow(`other users can access the sealing keys in ${path}: run chmod 600`);
});

test.each(["", "\n", "key_1 2\n", LINE.slice(0, 40), LINE + LINE, `${LINE}rest`])(
  "a damaged file is refused: %j",
  async (text) => {
    await writeFile(path, text, { mode: 0o600 });
    expect(() => readKeyFile(path)).toThrow(`${path} is not a file of sealing keys`);
  },
);

test("says in plain words that it cannot be read or created", async () => {
  await mkdir(path, { mode: 0o700 });
  expect(() => readKeyFile(path)).toThrow(KeyFileError);
  await expect(createKeyFile(join(directory.path, "missing", "secrets.key"))).rejects.toThrow(
    /^cannot create the file of sealing keys .*missing/,
  );
});
