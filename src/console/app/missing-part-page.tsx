import type { ReactNode } from "react";
import { PageTitle } from "../parts/page-title.tsx";
import { MissingPart } from "../parts/missing-part.tsx";

/** Shown in place of a page whose module could not be loaded. */
export function MissingPartPage({ error }: { readonly error: unknown }): ReactNode {
  return (
    <>
      <PageTitle title="Not loaded" />
      <MissingPart error={error} />
    </>
  );
}
