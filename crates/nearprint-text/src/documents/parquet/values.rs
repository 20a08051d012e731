//! Values of Parquet as those of JSON.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowTemporalType, ArrowTimestampType, Date32Type, Date64Type, Decimal32Type, Decimal64Type,
    Decimal128Type, Decimal256Type, Float16Type, Float32Type, Float64Type, Time32MillisecondType,
    Time32SecondType, Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{Array, ArrowPrimitiveType, PrimitiveArray};
use arrow_schema::{DataType, TimeUnit};

use super::super::cell::{Cell, Nested};
use super::super::json::push_string;
use super::row::{ParquetRow, ParquetValue};

/// Checks that a column of this type is converted. Of arrays and objects, their JSON is.
pub(in super::super) fn check_type(data_type: &DataType, nested: Nested) -> Result<(), String> {
    use DataType as T;
    match data_type {
        T::Null | T::Boolean | T::Utf8 | T::LargeUtf8 | T::Utf8View => Ok(()),
        T::Date32 | T::Date64 | T::Timestamp(..) | T::Time32(_) | T::Time64(_) => Ok(()),
        T::Decimal32(..) | T::Decimal64(..) | T::Decimal128(..) | T::Decimal256(..) => Ok(()),
        number if number.is_numeric() => Ok(()),
        T::Dictionary(_, values) => check_type(values, nested),
        T::List(item) | T::LargeList(item) | T::FixedSizeList(item, _) | T::Map(item, _) => {
            check_nested(nested, "an array")?;
            check_type(item.data_type(), Nested::Json)
        }
        T::Struct(fields) => {
            check_nested(nested, "an object")?;
            fields.iter().try_for_each(|field| check_type(field.data_type(), Nested::Json))
        }
        T::Binary | T::LargeBinary | T::BinaryView | T::FixedSizeBinary(_) => {
            Err("has bytes, which are not a text; leave it out with --fields".into())
        }
        other => Err(format!("has the type {other}, which cannot be converted; leave it out with --fields")),
    }
}

fn check_nested(nested: Nested, what: &str) -> Result<(), String> {
    match nested {
        Nested::Json => Ok(()),
        Nested::Refuse => Err(format!("has {what} in each row; --nested json writes them as JSON")),
    }
}

/// The value of a row in the column of this name.
pub(in super::super) fn cell_at<'a>(row: &'a ParquetRow, column: &str) -> Cell<'a> {
    row.batch.column_by_name(column).map_or(Cell::Null, |column| cell(column, row.index))
}

fn cell(array: &dyn Array, index: usize) -> Cell<'_> {
    use DataType as T;
    if array.is_null(index) {
        return Cell::Null;
    }
    match array.data_type() {
        T::Boolean => json(array.as_boolean().value(index).to_string()),
        T::Float16 => float(f64::from(array.as_primitive::<Float16Type>().value(index))),
        T::Float32 => {
            let number = array.as_primitive::<Float32Type>().value(index);
            serde_json::Number::from_f64(number.into()).map_or(Cell::Null, |_| json_of(&number))
        }
        T::Float64 => float(array.as_primitive::<Float64Type>().value(index)),
        T::Date32 => date::<Date32Type>(array, index),
        T::Date64 => date::<Date64Type>(array, index),
        T::Time32(TimeUnit::Second) => time::<Time32SecondType>(array, index),
        T::Time32(_) => time::<Time32MillisecondType>(array, index),
        T::Time64(TimeUnit::Microsecond) => time::<Time64MicrosecondType>(array, index),
        T::Time64(_) => time::<Time64NanosecondType>(array, index),
        T::Timestamp(TimeUnit::Second, _) => timestamp::<TimestampSecondType>(array, index),
        T::Timestamp(TimeUnit::Millisecond, _) => timestamp::<TimestampMillisecondType>(array, index),
        T::Timestamp(TimeUnit::Microsecond, _) => timestamp::<TimestampMicrosecondType>(array, index),
        T::Timestamp(TimeUnit::Nanosecond, _) => timestamp::<TimestampNanosecondType>(array, index),
        T::Decimal32(..) => json(array.as_primitive::<Decimal32Type>().value_as_string(index)),
        T::Decimal64(..) => json(array.as_primitive::<Decimal64Type>().value_as_string(index)),
        T::Decimal128(..) => json(array.as_primitive::<Decimal128Type>().value_as_string(index)),
        T::Decimal256(..) => json(array.as_primitive::<Decimal256Type>().value_as_string(index)),
        T::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            match ParquetValue::at(dictionary.keys(), index) {
                ParquetValue::Number(at, _) => {
                    at.parse().map_or(Cell::Null, |at| cell(dictionary.values(), at))
                }
                _ => Cell::Null,
            }
        }
        T::List(_) => list(&*array.as_list::<i32>().value(index)),
        T::LargeList(_) => list(&*array.as_list::<i64>().value(index)),
        T::FixedSizeList(..) => list(&*array.as_fixed_size_list().value(index)),
        T::Map(..) => map(array, index),
        T::Struct(fields) => {
            let columns = array.as_struct().columns();
            let members = fields.iter().zip(columns).map(|(field, column)| (field.name().as_str(), column));
            object(members.map(|(name, column)| (name.into(), cell(column, index))))
        }
        _ => match ParquetValue::at(array, index) {
            ParquetValue::Text(text) => Cell::Text(text.into()),
            ParquetValue::Number(number, _) => json(number),
            _ => Cell::Null,
        },
    }
}

fn json(text: String) -> Cell<'static> {
    Cell::Json(text.into())
}

fn json_of(number: &impl serde::Serialize) -> Cell<'static> {
    serde_json::to_string(number).map_or(Cell::Null, json)
}

/// A number, or null if it is not finite.
fn float(number: f64) -> Cell<'static> {
    if number.is_finite() { json_of(&number) } else { Cell::Null }
}

fn text(text: impl std::fmt::Debug) -> Cell<'static> {
    Cell::Text(format!("{text:?}").into())
}

fn date<T: ArrowTemporalType>(array: &dyn Array, index: usize) -> Cell<'static>
where
    i64: From<T::Native>,
{
    let dates = array.as_primitive::<T>();
    dates.value_as_date(index).map_or_else(|| out_of_range(dates, index), text)
}

fn time<T: ArrowTemporalType>(array: &dyn Array, index: usize) -> Cell<'static>
where
    i64: From<T::Native>,
{
    let times = array.as_primitive::<T>();
    times.value_as_time(index).map_or_else(|| out_of_range(times, index), text)
}

/// As in ISO 8601, in UTC if there is a time zone.
fn timestamp<T: ArrowTimestampType>(array: &dyn Array, index: usize) -> Cell<'static> {
    let times = array.as_primitive::<T>();
    let zone = if matches!(array.data_type(), DataType::Timestamp(_, Some(_))) { "Z" } else { "" };
    match times.value_as_datetime(index) {
        Some(time) => Cell::Text(format!("{time:?}{zone}").into()),
        None => out_of_range(times, index),
    }
}

/// A time that no calendar has, as its number.
fn out_of_range<T: ArrowPrimitiveType>(array: &PrimitiveArray<T>, index: usize) -> Cell<'static>
where
    i64: From<T::Native>,
{
    json(i64::from(array.value(index)).to_string())
}

fn list(items: &dyn Array) -> Cell<'static> {
    let mut out = vec![b'['];
    for index in 0..items.len() {
        if index > 0 {
            out.push(b',');
        }
        cell(items, index).push_json(&mut out);
    }
    out.push(b']');
    json(String::from_utf8_lossy(&out).into_owned())
}

/// An object, whose names are the keys.
fn map(array: &dyn Array, index: usize) -> Cell<'static> {
    let entries = array.as_map().value(index);
    let (keys, values) = (entries.column(0), entries.column(1));
    let name = |at| cell(keys, at).content().unwrap_or_default().to_string();
    object((0..entries.len()).map(|at| (name(at), cell(values, at))))
}

fn object<'a>(members: impl Iterator<Item = (String, Cell<'a>)>) -> Cell<'static> {
    let mut out = vec![b'{'];
    for (at, (name, value)) in members.enumerate() {
        if at > 0 {
            out.push(b',');
        }
        push_string(&name, &mut out);
        out.push(b':');
        value.push_json(&mut out);
    }
    out.push(b'}');
    json(String::from_utf8_lossy(&out).into_owned())
}
