import { expect, it } from "vitest";
import { describeFile, reportedFiles, secretLines } from "../../../../../src/agent/core/app/files.ts";
import { declaredSecretsOf } from "../../../../../src/agent/core/app/secrets.ts";

it("describes equal files equally, however they are written", () => {
  const key = { size: 1, sha256: "0" };
  const short = describeFile({ target: "/a//b/.", content: "a", mode: "440", owner: "007" }, key);
  expect(short).toEqual(describeFile({ target: "/a/b", content: "a", mode: "0440", owner: "7:7", secret: false }, key));
  expect(describeFile({ target: "/a", secret: true }, key)).toMatchObject({ mode: "0400", secret: true });
  expect(describeFile({ target: "/a" }, key)).toEqual({ target: "/a", ...key, mode: "0444" });
});

it("masks the lines of a secret file and the values in them, and no short words", () => {
  const text = 'user = admin\npassword = "correct horse"\n\ntoken:abcdefgh12\nshort\r\nPEM LINE OF A KEY\r\n';
  expect(secretLines(text)).toEqual([
    "user = admin",
    'password = "correct horse"',
    "correct horse",
    "token:abcdefgh12",
    "abcdefgh12",
    "PEM LINE OF A KEY",
  ]);
  expect(secretLines("line of a secret\n".repeat(1_000))).toHaveLength(1);
  expect(secretLines("x".repeat(100_000))).toEqual([]);
});

it("masks secret files only", () => {
  const files = [
    { target: "/a", size: 1, sha256: "plain", mode: "0444" },
    { target: "/b", size: 1, secret_id: "secret", mode: "0400", secret: true },
    { target: "/c", size: 1, secret_id: "lost", mode: "0400", secret: true },
  ];
  const texts = new Map([
    ["plain", "content of plain"],
    ["secret", "content of secret"],
  ]);
  expect(declaredSecretsOf({ files }, (id) => texts.get(id))).toEqual(["content of secret"]);
});

it("reports nothing by which a secret could be guessed", () => {
  const file = { target: "/b", size: 1, secret_id: "id", mode: "0400", secret: true };
  expect(reportedFiles([file])).toEqual([{ target: "/b", size: 1, mode: "0400", secret: true }]);
});
