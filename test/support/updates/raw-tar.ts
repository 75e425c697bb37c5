/** An entry of an archive, also one that no tool would write. */
export interface TarEntry {
  readonly path: string;
  readonly content?: string;
  /** Of ustar: "0" a file, "1" a hard link, "2" a symbolic link, "3" and "4" devices, "5" a folder, "6" a pipe. */
  readonly type?: string;
  readonly target?: string;
  readonly mode?: number;
  /** In place of the content's. */
  readonly bytes?: number;
}

const BLOCK = 512;

export function tarOf(entries: readonly TarEntry[]): Buffer {
  return Buffer.concat([...entries.flatMap(blocksOf), Buffer.alloc(2 * BLOCK)]);
}

function blocksOf({ path, content = "", type = "0", target = "", mode = 0o644, bytes }: TarEntry): Buffer[] {
  const header = Buffer.alloc(BLOCK);
  const put = (text: string, at: number): number => header.write(text, at, "latin1");
  put(path, 0);
  put(`${mode.toString(8).padStart(7, "0")}\0`, 100);
  put("0000000\0", 108);
  put("0000000\0", 116);
  put(`${(bytes ?? content.length).toString(8).padStart(11, "0")}\0`, 124);
  put("00000000000\0", 136);
  put(type, 156);
  put(target, 157);
  put("ustar\u000000", 257);
  put("        ", 148);
  put(
    `${header
      .reduce((sum, byte) => sum + byte, 0)
      .toString(8)
      .padStart(6, "0")}\0 `,
    148,
  );
  const body = Buffer.alloc(Math.ceil(content.length / BLOCK) * BLOCK);
  body.write(content, "latin1");
  return [header, body];
}
