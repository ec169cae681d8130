//! A table as a Parquet file (<https://parquet.apache.org/docs/file-format/>), for databases and
//! data frames.

use std::sync::Arc;

use ::parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use ::parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use ::parquet::errors::Result as Written;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use ::parquet::schema::types::Type;

use bitcost_analysis::frame::{Table, Value};

/// Rows that are written, and read, together.
const GROUP: usize = 100_000;

/// Why a table has no Parquet file.
#[derive(Debug, thiserror::Error)]
#[error("the table cannot be written as Parquet: {0}")]
pub struct ParquetError(#[from] ::parquet::errors::ParquetError);

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// `INT64`
    Whole,
    /// `DOUBLE`
    Number,
    /// `BYTE_ARRAY` of UTF-8
    Text,
}

/// The table as a file: a column of whole numbers is `INT64`, one with any other number `DOUBLE`,
/// one with words, or without any value, a string. Each may be null; pages are compressed by
/// Snappy.
///
/// # Errors
/// If the library cannot write it, for example with a value over 2 GiB.
pub fn parquet(table: &Table) -> Result<Vec<u8>, ParquetError> {
    let kinds: Vec<Kind> = (0..table.columns.len())
        .map(|column| kind(table, column))
        .collect();
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_created_by(concat!("bitcost ", env!("CARGO_PKG_VERSION")).to_owned());
    let mut writer = SerializedFileWriter::new(
        Vec::new(),
        schema(table, &kinds)?,
        Arc::new(properties.build()),
    )?;
    for rows in table.rows.chunks(GROUP) {
        let mut group = writer.next_row_group()?;
        let mut columns = kinds.iter().enumerate();
        while let (Some(mut writer), Some((column, kind))) = (group.next_column()?, columns.next())
        {
            write(&mut writer, *kind, rows.iter().map(|row| &row[column]))?;
            writer.close()?;
        }
        group.close()?;
    }
    Ok(writer.into_inner()?)
}

fn kind(table: &Table, column: usize) -> Kind {
    let values = table.rows.iter().map(|row| &row[column]);
    let kinds = values.filter_map(|value| match value {
        Value::Absent => None,
        Value::Whole(_) => Some(Kind::Whole),
        Value::Number(_) => Some(Kind::Number),
        Value::Text(_) => Some(Kind::Text),
    });
    let wider = |a, b| match (a, b) {
        (Kind::Text, _) | (_, Kind::Text) => Kind::Text,
        (Kind::Whole, Kind::Whole) => Kind::Whole,
        _ => Kind::Number,
    };
    kinds.reduce(wider).unwrap_or(Kind::Text)
}

fn schema(table: &Table, kinds: &[Kind]) -> Written<Arc<Type>> {
    let column = |(name, kind): (&String, &Kind)| {
        let (physical, logical) = match kind {
            Kind::Whole => (Physical::INT64, None),
            Kind::Number => (Physical::DOUBLE, None),
            Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let column =
            Type::primitive_type_builder(name, physical).with_repetition(Repetition::OPTIONAL);
        column.with_logical_type(logical).build().map(Arc::new)
    };
    let columns = table
        .columns
        .iter()
        .zip(kinds)
        .map(column)
        .collect::<Written<_>>()?;
    Type::group_type_builder("table")
        .with_fields(columns)
        .build()
        .map(Arc::new)
}

/// Writes the values that there are, and for each row whether it has one (its definition level).
fn write<'a>(
    writer: &mut SerializedColumnWriter<'_>,
    kind: Kind,
    values: impl Iterator<Item = &'a Value> + Clone,
) -> Written<usize> {
    let levels: Vec<i16> = values
        .clone()
        .map(|value| i16::from(*value != Value::Absent))
        .collect();
    let levels = Some(&levels[..]);
    match kind {
        Kind::Whole => {
            let whole = |value: &Value| {
                if let Value::Whole(number) = value {
                    Some(*number)
                } else {
                    None
                }
            };
            let present: Vec<i64> = values.filter_map(whole).collect();
            writer
                .typed::<Int64Type>()
                .write_batch(&present, levels, None)
        }
        Kind::Number => {
            let number = |value: &Value| match value {
                Value::Whole(number) => Some(*number as f64),
                Value::Number(number) => Some(*number),
                Value::Absent | Value::Text(_) => None,
            };
            let present: Vec<f64> = values.filter_map(number).collect();
            writer
                .typed::<DoubleType>()
                .write_batch(&present, levels, None)
        }
        Kind::Text => {
            let words = |value: &Value| match value {
                Value::Absent => None,
                Value::Whole(number) => Some(number.to_string()),
                Value::Number(number) => Some(format!("{number:?}")),
                Value::Text(text) => Some(text.clone()),
            };
            let present: Vec<ByteArray> = values
                .filter_map(words)
                .map(|words| ByteArray::from(words.into_bytes()))
                .collect();
            writer
                .typed::<ByteArrayType>()
                .write_batch(&present, levels, None)
        }
    }
}

#[cfg(test)]
mod tests {
    use ::parquet::file::reader::{FileReader, SerializedFileReader};
    use ::parquet::record::Field;

    use super::*;

    /// The file's columns with the names and types that its reader gives, and its rows.
    fn read(file: Vec<u8>) -> (Vec<(String, Physical)>, Vec<Vec<Field>>) {
        let reader = SerializedFileReader::new(bytes::Bytes::from(file)).expect("a Parquet file");
        let schema = reader.metadata().file_metadata().schema_descr();
        let columns = schema
            .columns()
            .iter()
            .map(|column| (column.name().to_owned(), column.physical_type()));
        let columns = columns.collect();
        let rows = reader
            .get_row_iter(None)
            .expect("rows")
            .map(|row| row.expect("a row"));
        (
            columns,
            rows.map(|row| {
                row.get_column_iter()
                    .map(|(_, field)| field.clone())
                    .collect()
            })
            .collect(),
        )
    }

    #[test]
    fn columns_have_the_types_of_their_values_and_gaps_are_null() {
        let mut table = Table::new(["run", "throughput_mbps", "level", "reason"]);
        table.rows.push(vec![
            Value::Whole(0),
            Value::Number(1.5),
            Value::Whole(1024),
            Value::Absent,
        ]);
        table.rows.push(vec![
            Value::Whole(1),
            Value::Absent,
            Value::from("größte \"<,"),
            Value::Absent,
        ]);
        table.rows.push(vec![
            Value::Whole(-7),
            Value::Whole(3),
            Value::Absent,
            Value::Absent,
        ]);
        let (columns, rows) = read(parquet(&table).expect("written"));
        let wanted = [
            ("run", Physical::INT64),
            ("throughput_mbps", Physical::DOUBLE),
            ("level", Physical::BYTE_ARRAY),
            ("reason", Physical::BYTE_ARRAY),
        ];
        assert_eq!(columns, wanted.map(|(name, kind)| (name.to_owned(), kind)));
        let text = |words: &str| Field::Str(words.to_owned());
        let wanted = [
            [
                Field::Long(0),
                Field::Double(1.5),
                text("1024"),
                Field::Null,
            ],
            [
                Field::Long(1),
                Field::Null,
                text("größte \"<,"),
                Field::Null,
            ],
            [
                Field::Long(-7),
                Field::Double(3.0),
                Field::Null,
                Field::Null,
            ],
        ];
        assert_eq!(rows, wanted);
    }

    #[test]
    fn many_rows_lie_in_several_groups_and_none_are_a_file_too() {
        let mut table = Table::new(["run"]);
        assert_eq!(read(parquet(&table).expect("written")).1.len(), 0);
        table.rows = (0..GROUP as i64 + 5)
            .map(|run| vec![Value::Whole(run)])
            .collect();
        let (_, rows) = read(parquet(&table).expect("written"));
        let runs = rows.iter().map(|row| row[0].clone());
        assert!(
            runs.eq((0..GROUP as i64 + 5).map(Field::Long)),
            "every row in its order"
        );
    }
}
