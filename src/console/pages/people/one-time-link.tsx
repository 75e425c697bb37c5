import type { ReactNode } from "react";
import { Age } from "../../parts/age.tsx";
import { CopyOnce } from "../../parts/copy-once.tsx";

interface Props {
  readonly label: string;
  readonly link: string;
  readonly expires_at: number;
}

/** A link that sets a password. */
export function OneTimeLink({ label, link, expires_at }: Props): ReactNode {
  const note = (
    <>
      Pass it on in a way that only this person reads. It is shown only now, can be used once, and expires{" "}
      <Age at={expires_at} />.
    </>
  );
  return <CopyOnce label={label} value={link} note={note} />;
}
