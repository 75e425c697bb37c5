import { Loader } from "@mantine/core";
import { type ReactNode, useEffect, useState } from "react";

/** Shorter waits need no sign, which would only flicker. */
const MIN_WAIT_MS = 200;

/** Sign that something is being fetched, after a moment. */
export function Loading({ label = "Loading" }: { readonly label?: string }): ReactNode {
  const [isShown, setShown] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), MIN_WAIT_MS);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div role="status" aria-label={label} style={{ minHeight: "3rem", padding: "0.75rem" }}>
      {isShown && <Loader size="sm" />}
    </div>
  );
}
