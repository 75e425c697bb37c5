/* oxlint-disable jsx-a11y/no-redundant-roles, jsx-a11y/no-interactive-element-to-noninteractive-role -- the roles are given, see below */
import type { ReactNode } from "react";
import classes from "./table.module.css";

export interface Column<Row> {
  readonly header: string;
  readonly renderCell: (row: Row) => ReactNode;
  /** Whether the column is as narrow as its content. */
  readonly isNarrow?: boolean;
  /** Whether the header is for screen readers only, as that of buttons. */
  readonly hidesHeader?: boolean;
}

interface Props<Row> {
  /** What the table lists. */
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
}

/**
 * A table. On a narrow screen each row is a block with the headers beside its cells; the roles are given, since browsers
 * forget them with the layout.
 */
export function Table<Row>({ label, columns, rows, keyOf }: Props<Row>): ReactNode {
  return (
    <table className={classes.table} aria-label={label} role="table">
      <thead role="rowgroup">
        <tr role="row">
          {columns.map(({ header, hidesHeader, isNarrow }) => (
            <th key={header} scope="col" role="columnheader" data-narrow={isNarrow}>
              {hidesHeader ? <span className="visually-hidden">{header}</span> : header}
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {rows.map((row) => (
          <tr key={keyOf(row)} role="row">
            {columns.map(({ header, renderCell, hidesHeader, isNarrow }) => (
              <td key={header} role="cell" data-label={hidesHeader ? undefined : header} data-narrow={isNarrow}>
                <div>{renderCell(row)}</div>
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
